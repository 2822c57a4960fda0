//! Gathers a snapshot. Reads only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decide::view::{View, text_facts, trust_policy};
use crate::decide::{Order, Snapshot};
use crate::model::blockers::WaitsOn;
use crate::model::body::VerifyBlock;
use crate::model::ids::{BranchName, IssueNumber, Login, RefName, RepoSlug, Sha, Timestamp};
use crate::model::labels::Status;
use crate::model::lease::{LeaseMessage, LeaseReading};
use crate::model::limits::REPO_FACTS_FOR;
use crate::model::local::LocalFacts;
use crate::model::repo::{Permission, Repository};
use crate::model::sandbox::{Sandbox, place_of};
use crate::model::trust::{People, unknown_logins};
use crate::ports::PortResult;
use crate::ports::github::{GitHub, Look, LookAt};
use crate::ports::memory::Memory;

use super::settings::RepoEngine;

/// Repository facts as they are kept between processes.
#[derive(Serialize, Deserialize)]
struct KeptFacts {
    at: Timestamp,
    /// The name in the configuration; a renamed repository answers with another one.
    asked_as: RepoSlug,
    repository: Repository,
}

/// What the next look at an issue asks for besides the obvious; a hint that saves a second look.
#[derive(Serialize, Deserialize, Default, PartialEq, Clone)]
pub(super) struct Hint {
    branch: Option<BranchName>,
    merge_commit: Option<Sha>,
}

/// Was the look given, or was it taken now?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Yes,
    No,
}

fn hint_name(issue: IssueNumber) -> String {
    format!("issue-{issue}")
}

/// The repository's facts: those in `memory` if they are younger than an hour, else GitHub's.
pub async fn kept_repository(
    github: &dyn GitHub,
    memory: &dyn Memory,
    now: Timestamp,
    slug: &RepoSlug,
) -> PortResult<Repository> {
    let young = |kept: &KeptFacts| now >= kept.at && now < kept.at + REPO_FACTS_FOR;
    if let Some(kept) = load_kept(memory, slug).filter(young) {
        return Ok(kept.repository);
    }
    let repository = github.repository().await?;
    keep_repository(memory, now, slug, &repository);
    Ok(repository)
}

fn load_kept(memory: &dyn Memory, slug: &RepoSlug) -> Option<KeptFacts> {
    let kept: KeptFacts = serde_json::from_str(&memory.load("repository")?).ok()?;
    (kept.asked_as == *slug).then_some(kept)
}

/// The facts as they were last seen, however long ago: for what does not change, such as the id.
pub fn last_seen_repository(memory: &dyn Memory, slug: &RepoSlug) -> Option<Repository> {
    load_kept(memory, slug).map(|kept| kept.repository)
}

/// Keeps what GitHub has just said.
pub fn keep_repository(
    memory: &dyn Memory,
    now: Timestamp,
    slug: &RepoSlug,
    repository: &Repository,
) {
    let kept = KeptFacts {
        at: now,
        asked_as: slug.clone(),
        repository: repository.clone(),
    };
    if let Ok(text) = serde_json::to_string(&kept) {
        memory.save("repository", &text);
    }
}

impl RepoEngine {
    /// The repository's facts, asked again after an hour.
    pub async fn repository(&self) -> PortResult<Repository> {
        let world = &self.world;
        let slug = &self.settings.slug;
        kept_repository(&*world.github, &*world.memory, world.clock.now(), slug).await
    }

    /// Everything a decision about the issue needs. `look` is used instead of a new one if it is given.
    pub(super) async fn observe(
        &self,
        issue: IssueNumber,
        order: &Order,
        look: Option<Look>,
    ) -> PortResult<Snapshot> {
        let repo = self.repository().await?;
        let base = self
            .settings
            .base_branch
            .clone()
            .or(repo.default_branch.clone());
        let (look, given) = if let Some(look) = look {
            (look, Given::Yes)
        } else {
            let hint = self.hint(issue);
            let look = self.look_with(issue, base.as_ref(), &hint).await?;
            (look, Given::No)
        };
        let mut seen = Snapshot {
            repo,
            base,
            look,
            local: LocalFacts::default(),
            remote_contained: None,
            outgoing: Vec::new(),
            host: Some(format!("{}:{}", self.settings.host, self.settings.pid)),
            people: self.known_people(),
            lease_first_seen: None,
            slot_owners: BTreeMap::new(),
            slot_owners_known: false,
            leads: BTreeMap::new(),
            waits_on: WaitsOn::default(),
            trouble: self.known_trouble(issue, order),
            rules: None,
            base_checks: None,
            order: order.clone(),
        };
        if given == Given::No {
            self.look_again(issue, &mut seen).await?;
        }
        seen.local = self.local_facts(issue, &seen).await?;
        self.ask_about_sandboxes(&mut seen);
        self.compare_branch(issue, &mut seen).await?;
        self.ask_about_diff(issue, &mut seen).await?;
        self.ask_about_people(&mut seen).await?;
        self.date_odd_lease(issue, &mut seen)?;
        self.ask_about_leads(&mut seen).await?;
        Ok(seen)
    }

    /// Markers that name the lead of a bundle are worth what the lead's claim is.
    async fn ask_about_leads(&self, seen: &mut Snapshot) -> PortResult<()> {
        let leads = View::of(seen, &self.policy, seen.look.at)
            .map(|view| view.leads())
            .unwrap_or_default();
        for lead in leads {
            let hint = self.hint(lead);
            let look = self.look_with(lead, seen.base.as_ref(), &hint).await?;
            let lead_seen = Snapshot {
                look,
                local: LocalFacts::default(),
                ..seen.clone()
            };
            let view = View::of(&lead_seen, &self.policy, lead_seen.look.at);
            // A lead that is gone or closed leads nothing any more.
            let claimed = view.is_ok_and(|view| view.issue.open && view.is_claimed());
            seen.leads.insert(lead, claimed);
        }
        Ok(())
    }

    /// A look at the issue for the pull requests of another branch than usual.
    pub(super) async fn look_for_branch(
        &self,
        issue: IssueNumber,
        base: Option<&BranchName>,
        branch: BranchName,
    ) -> PortResult<Look> {
        let hint = Hint {
            branch: Some(branch),
            merge_commit: None,
        };
        self.look_with(issue, base, &hint).await
    }

    /// What the last look at this issue taught.
    fn hint(&self, issue: IssueNumber) -> Hint {
        let kept = self.world.memory.load(&hint_name(issue));
        kept.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Looks a second time where the first look shows that something else should have been asked.
    async fn look_again(&self, issue: IssueNumber, seen: &mut Snapshot) -> PortResult<()> {
        if let Some(better) = self.keep_hint(issue, seen) {
            seen.look = self.look_with(issue, seen.base.as_ref(), &better).await?;
        }
        Ok(())
    }

    /// Keeps what a snapshot says about what the next look should ask; answers it if it is news. After
    /// a write of ours that is known without a look.
    pub(super) fn keep_hint(&self, issue: IssueNumber, seen: &Snapshot) -> Option<Hint> {
        let better = self.better_hint(seen)?;
        if better == self.hint(issue) {
            return None;
        }
        if let Ok(text) = serde_json::to_string(&better) {
            self.world.memory.save(&hint_name(issue), &text);
        }
        Some(better)
    }

    async fn look_with(
        &self,
        issue: IssueNumber,
        base: Option<&BranchName>,
        hint: &Hint,
    ) -> PortResult<Look> {
        let wrong = || {
            crate::ports::PortError::refused(
                format!("look at issue #{issue}"),
                crate::ports::Refusal::Local,
                "`branch_prefix` or the base branch does not make a branch name",
            )
        };
        let branch = hint
            .branch
            .clone()
            .or_else(|| self.policy.branch(issue))
            .ok_or_else(wrong)?;
        let base = base
            .cloned()
            .or_else(|| BranchName::new("main").ok())
            .ok_or_else(wrong)?;
        let at = LookAt {
            issue,
            leases: self
                .policy
                .issue_ref(issue)
                .into_iter()
                .chain(self.policy.slot_refs())
                .collect(),
            refs: std::iter::once(RefName::of_branch(&branch))
                .chain(self.policy.wip_ref(issue))
                .collect(),
            branch,
            base,
            merge_commit: hint.merge_commit.clone(),
        };
        let sent = self.world.clock.boot_time();
        let look = self.world.github.look(&at).await?;
        self.note_look(issue, look.at, sent);
        Ok(look)
    }

    /// What the state that counts says about what a look should ask; `None`: there is no issue.
    fn better_hint(&self, seen: &Snapshot) -> Option<Hint> {
        let view = View::of(seen, &self.policy, seen.look.at).ok()?;
        let usual = self.policy.branch(view.issue.number);
        let branch = view.state.branch_name.clone();
        Some(Hint {
            branch: branch.filter(|branch| Some(branch) != usual.as_ref()),
            merge_commit: view.state.merge_commit_sha.clone(),
        })
    }

    async fn local_facts(&self, issue: IssueNumber, seen: &Snapshot) -> PortResult<LocalFacts> {
        let path = self.worktree_path(issue);
        let worktree = match &seen.base {
            Some(base) => match self.world.git.worktree(&path, base).await {
                // It was tried often enough: it is blocked, or shown, without a look at the worktree.
                Err(error) if seen.trouble.is_some() && error.refusal().is_some() => None,
                worktree => worktree?,
            },
            None => None,
        };
        let runs = self.world.runs.facts(issue)?;
        self.note_limits(&runs);
        Ok(LocalFacts {
            claim: self.world.folders.claim(issue)?,
            runs,
            worktree,
            sandbox_trouble: None,
            paused: self.paused_agents(),
            spent_today: self.spent_today()?,
        })
    }

    /// Can the containers of this issue's steps be had? Asked before an agent is paid whose work could
    /// not be verified.
    fn ask_about_sandboxes(&self, seen: &mut Snapshot) {
        let Ok(view) = View::of(seen, &self.policy, seen.look.at) else {
            return;
        };
        let steps = match &view.body.verify {
            VerifyBlock::Steps(steps) => steps.as_slice(),
            VerifyBlock::Missing | VerifyBlock::Invalid { .. } => return,
        };
        let setup = self.settings.setup.as_ref().map(|_| None);
        let paths = steps.iter().map(|step| step.path.as_deref()).chain(setup);
        let sandboxes: Vec<&Sandbox> = paths
            .filter_map(|path| place_of(&self.settings.places, path)?.sandbox.as_ref())
            .chain(&self.settings.agent_sandbox)
            .collect();
        seen.local.sandbox_trouble = self.world.runs.sandbox_trouble(&sandboxes);
    }

    /// Is the remote branch's head in the worktree? Otherwise a push would lose somebody's commits.
    async fn compare_branch(&self, issue: IssueNumber, seen: &mut Snapshot) -> PortResult<()> {
        let Some(tree) = &seen.local.worktree else {
            return Ok(());
        };
        let Some(branch) = &tree.branch else {
            return Ok(());
        };
        let Some(remote) = seen.look.refs.get(&RefName::of_branch(branch)) else {
            return Ok(());
        };
        // Nothing is done for it but, perhaps, to block it.
        if seen.trouble.is_some() {
            return Ok(());
        }
        seen.remote_contained = Some(if *remote == tree.head {
            true
        } else {
            self.world
                .git
                .contains(&self.worktree_path(issue), remote)
                .await?
        });
        Ok(())
    }

    /// What the branch's commits are, before any of it is pushed, to its own ref or to that of saved work, and
    /// before an agent is paid for reading it.
    async fn ask_about_diff(&self, issue: IssueNumber, seen: &mut Snapshot) -> PortResult<()> {
        let Some(tree) = &seen.local.worktree else {
            return Ok(());
        };
        let saved = self.policy.wip_ref(issue);
        let saved = saved.and_then(|name| seen.look.refs.get(&name));
        let unsaved = tree.differs_from_base && saved != Some(&tree.head);
        let pushes = unsaved
            || View::of(seen, &self.policy, seen.look.at).is_ok_and(|view| view.looks_at_diff());
        let pushes = pushes && seen.trouble.is_none();
        if let (true, Some(base)) = (pushes, &seen.base) {
            let path = self.worktree_path(issue);
            let secrets = &self.settings.secrets;
            seen.outgoing = self.world.git.outgoing(&path, base, secrets).await?;
        }
        Ok(())
    }

    fn known_people(&self) -> People {
        self.people
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
    }

    /// Editors and labellers about whom nothing says whether they are trusted.
    async fn ask_about_people(&self, seen: &mut Snapshot) -> PortResult<()> {
        let unknown = self.unknown_people(seen);
        for login in unknown {
            let permission = match self.world.github.permission(&login).await {
                Ok(permission) => permission,
                Err(error) if error.refusal().is_some() => Permission::Less,
                Err(error) => return Err(error),
            };
            seen.people.insert(login.clone(), permission);
            let mut people = self
                .people
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            people.insert(login, permission);
        }
        Ok(())
    }

    fn unknown_people(&self, seen: &Snapshot) -> Vec<Login> {
        let Some(issue) = &seen.look.issue else {
            return Vec::new();
        };
        let policy = trust_policy(seen, &self.policy);
        let mut unknown = unknown_logins(&text_facts(seen, issue), &policy, &seen.people);
        // Who set the idle label on a blocked issue matters; nobody else's label does.
        if let Ok(view) = View::of(seen, &self.policy, seen.look.at)
            && view.state.is_blocked()
            && let Some((Status::Idle, event)) = view.last_status()
            && let Some(actor) = &event.actor
            && !view.obeys(Some(actor))
            && !seen.people.contains_key(&actor.login)
        {
            unknown.push(actor.login.clone());
        }
        unknown
    }

    /// A lease whose own time is not believable counts from when we first saw it.
    fn date_odd_lease(&self, issue: IssueNumber, seen: &mut Snapshot) -> PortResult<()> {
        let Ok(view) = View::of(seen, &self.policy, seen.look.at) else {
            return Ok(());
        };
        if !matches!(view.lease, LeaseReading::Odd { .. }) {
            return Ok(());
        }
        let Some(commit) = view.lease_commit() else {
            return Ok(());
        };
        let first = self
            .world
            .folders
            .first_seen(issue, commit.oid.as_str(), seen.look.at)?;
        seen.lease_first_seen = Some(first);
        Ok(())
    }

    /// Reads the issue leases that the slots name, so that slots left by a crash can be told.
    pub(super) async fn ask_about_slots(&self, seen: &mut Snapshot) -> PortResult<()> {
        let owners: Vec<RefName> = self
            .policy
            .slot_refs()
            .iter()
            .filter_map(|slot| seen.look.leases.get(slot))
            .filter_map(|commit| LeaseMessage::parse(&commit.message))
            .filter_map(|message| self.policy.issue_ref(message.issue))
            .collect();
        if !owners.is_empty() {
            let (_, leases) = self.world.github.read_leases(&owners).await?;
            seen.slot_owners = leases;
        }
        seen.slot_owners_known = true;
        Ok(())
    }
}
