//! The hooks of other tools: they claim and renew for an agent that forgets to. None of them ever stops work
//! because GitHub, the configuration or the identity is missing.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::super::args::Args;
use super::super::environment::Env;
use super::super::output;
use super::super::tool::{Asked, Patience};
use super::checkout::{Checkout, Note, issue_of_branch};
use super::early::Event;
use super::said::{self, Said};
use super::session::{self, Session, Trouble};
use super::{Call, HELD};
use crate::adapters::clock::SystemClock;
use crate::decide::leases::{Holder, Standing};
use crate::engine::leases::{Taken, Won};
use crate::model::ids::IssueNumber;
use crate::ports::clock::Clock as _;

/// A hook is waited for by a person or a turn of an agent.
const PATIENCE: Patience = Patience {
    read_retries: 0,
    timeout: Duration::from_secs(10),
};

/// A lease is stamped again at a third of its time, so that two stamps may fail.
const PARTS: i64 = 3;

/// Where a hook works, and for whom.
struct Place<'a> {
    env: &'a Env,
    config: Option<&'a Path>,
    repo: Option<&'a str>,
    dir: &'a Path,
}

/// What a hook came to know.
enum Known {
    /// The issue is the agent's.
    Mine,
    /// Another holds it.
    Held(Holder),
    /// Nobody holds it.
    Free,
}

impl Place<'_> {
    fn open(&self) -> Result<Session, Trouble> {
        let asked = Asked {
            repo: self.repo,
            config: self.config,
            dir: self.dir,
        };
        Session::open(self.env, asked, PATIENCE)
    }

    /// Claims the issue, or stamps its clock again, and writes the note.
    async fn take(
        &self,
        checkout: &Checkout,
        (issue, stamp): (IssueNumber, bool),
    ) -> Result<Known, Trouble> {
        let session = self.open()?;
        let taken = if stamp {
            session
                .ask(async |leases| leases.renew(issue).await)
                .await?
        } else {
            session
                .ask(async |leases| leases.claim(issue).await)
                .await?
        };
        let won = match taken {
            Taken::Held(holder) => {
                checkout.forget_everywhere(issue);
                return Ok(Known::Held(holder));
            }
            Taken::Won(won) => won,
        };
        // One that was not stamped now is older than the note would say.
        let standing = match won {
            Won::Already => {
                session
                    .ask(async |leases| leases.standing_of(issue).await)
                    .await?
            }
            Won::Fresh(_) | Won::Again => None,
        };
        self.note(checkout, issue, (session.leases.ttl_min, standing.as_ref()));
        Ok(Known::Mine)
    }

    fn note(
        &self,
        checkout: &Checkout,
        issue: IssueNumber,
        (ttl, standing): (u64, Option<&Standing>),
    ) {
        let age = standing.map_or(0, |stands| stands.age.num_milliseconds());
        checkout.write(&Note {
            issue,
            owner: session::identity(self.env).unwrap_or_default(),
            ttl_min: standing.and_then(|stands| stands.ttl_min).unwrap_or(ttl),
            at: SystemClock.now().timestamp_millis() - age,
        });
    }

    /// Looks without taking anything.
    async fn look(
        &self,
        checkout: &Checkout,
        issue: IssueNumber,
        me: &str,
    ) -> Result<Known, Trouble> {
        let session = self.open()?;
        let stands = session
            .ask(async |leases| leases.standing_of(issue).await)
            .await?;
        let Some(stands) = stands else {
            return Ok(Known::Free);
        };
        if stands.holder.owner.as_deref() == Some(me) {
            self.note(checkout, issue, (session.leases.ttl_min, Some(&stands)));
            return Ok(Known::Mine);
        }
        Ok(if stands.expired {
            Known::Free
        } else {
            Known::Held(stands.holder)
        })
    }
}

impl Call<'_> {
    /// `hook`, and `codex-hook`, which is told where.
    pub(super) async fn hook(&self, event: &[String]) -> Said {
        let told = event
            .iter()
            .find_map(|text| serde_json::from_str::<Event>(text).ok())
            .and_then(|event| event.cwd);
        let dir = told
            .or_else(|| std::env::current_dir().ok())
            .unwrap_or_default();
        let said = self.said();
        let Some(me) = session::identity(self.env) else {
            return said.warn(&session::no_identity(self.env));
        };
        let Some(checkout) = Checkout::around(&dir) else {
            return said;
        };
        let Some(issue) = checkout.issue() else {
            return said;
        };
        let now = SystemClock.now();
        if checkout
            .note()
            .is_some_and(|note| note.holds(issue, &me, now, PARTS))
        {
            return said;
        }
        let place = Place {
            env: self.env,
            config: self.args.config.as_deref(),
            repo: self.options.repo.as_deref(),
            dir: &dir,
        };
        match place.take(&checkout, (issue, true)).await {
            Ok(Known::Mine | Known::Free) => said.note(&format!("holding #{issue} as `{me}`")),
            Ok(Known::Held(holder)) => said.warn(&foreign(issue, &holder)),
            Err(trouble) => said.warn(&unleased(&trouble)),
        }
    }

    /// `guard-push`: only a living lease of another refuses.
    pub(super) async fn guard_push(&self, branch: &str) -> Said {
        let said = self.said();
        let Some(issue) = issue_of_branch(branch) else {
            return said.field("outcome", "allowed");
        };
        let asked = async {
            let session = self.open()?;
            session
                .ask(async |leases| leases.standing_of(issue).await)
                .await
        };
        let me = session::identity(self.env);
        let stands = match asked.await {
            Ok(stands) => stands.filter(|stands| !stands.expired),
            Err(trouble) => return said.field("outcome", "allowed").warn(&unleased(&trouble)),
        };
        let Some(holder) = stands
            .map(|stands| stands.holder)
            .filter(|holder| holder.owner != me || me.is_none())
        else {
            return said.field("outcome", "allowed");
        };
        let why = if me.is_some() {
            String::new()
        } else {
            " and AGENT_ID is not set, so nobody can tell that it is yours".to_owned()
        };
        said.outcome("blocked", issue)
            .note(&format!(
                "push blocked: #{issue} is held by {}{why}",
                said::name_of(&holder)
            ))
            .held(&holder)
            .note("hint: talk to its holder, or push all the same: git push --no-verify")
            .exit(HELD)
    }
}

/// `claude-hook`, on an event that needs more than the note. Always ends with 0.
pub async fn claude(env: &Env, args: Option<&Args>, (event, block): (&Event, bool)) -> ExitCode {
    let here = std::env::current_dir().unwrap_or_default();
    let dir = event.cwd.as_deref().unwrap_or(&here);
    let place = Place {
        env,
        config: args.and_then(|args| args.config.as_deref()),
        repo: None,
        dir,
    };
    if let Some(words) = place.claude(event, block).await {
        output::data(&words.to_string());
    }
    ExitCode::SUCCESS
}

impl Place<'_> {
    async fn claude(&self, event: &Event, block: bool) -> Option<serde_json::Value> {
        let Some(me) = session::identity(self.env) else {
            let words = format!(
                "Issues are not leased here: {}.",
                session::no_identity(self.env)
            );
            return tell(event, &format!("warning: {words}"), &words);
        };
        let checkout = Checkout::around(self.dir)?;
        let issue = checkout.issue()?;
        let known = if event.is_before_tool() {
            self.look(&checkout, issue, &me).await
        } else {
            self.take(&checkout, (issue, false)).await
        };
        match known {
            Ok(Known::Free) => None,
            Ok(Known::Mine) if event.is_before_tool() => None,
            Ok(Known::Mine) => {
                let words = format!(
                    "You hold the lease of issue #{issue} as `{me}`: other agents keep away from it."
                );
                tell(event, &words, &words)
            }
            Ok(Known::Held(holder)) if block && event.is_before_tool() => Some(json!({
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": foreign(issue, &holder),
                }
            })),
            Ok(Known::Held(holder)) => {
                let words = foreign(issue, &holder);
                tell(event, &format!("warning: {words}"), &words)
            }
            Err(trouble) => {
                output::say(&format!("warning: {}", unleased(&trouble)));
                None
            }
        }
    }
}

/// A line for the person; and for the agent, on events whose output it gets to read.
/// <https://docs.claude.com/en/docs/claude-code/hooks>, 2026-11-30
fn tell(event: &Event, person: &str, agent: &str) -> Option<serde_json::Value> {
    output::say(person);
    let name = if event.hook_event_name.is_empty() {
        "SessionStart"
    } else {
        event.hook_event_name.as_str()
    };
    matches!(name, "SessionStart" | "UserPromptSubmit").then(
        || json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": agent } }),
    )
}

fn foreign(issue: IssueNumber, holder: &Holder) -> String {
    format!(
        "issue #{issue} is held by {}, who works on it now: take another issue, or agree with its holder first",
        said::name_of(holder)
    )
}

fn unleased(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Degraded(why) => {
            format!("leasing is not possible now, going on WITHOUT a lease: {why}")
        }
        Trouble::Failed(error) => {
            format!("going on WITHOUT a lease: {}", session::in_one_line(error))
        }
    }
}
