//! Fetch and push, and what their words mean.

use std::path::Path;

use crate::adapters::clock::SystemClock;
use crate::model::ids::{BranchName, RefName, Sha};
use crate::model::limits::GIT_LIMITED_WAIT;
use crate::ports::clock::Clock as _;
use crate::ports::git::{Push, PushOutcome};
use crate::ports::{PortError, PortResult, Refusal};

use super::command::{Output, RunError};
use super::door::Door;
use super::{CliGit, local, look};

impl CliGit {
    pub(super) async fn perform_fetch_base(&self, base: &BranchName) -> PortResult<Sha> {
        let what = format!("fetch the base `{base}`");
        let [tracking, own] = look::bases(&self.settings.remote, base);
        let from = RefName::of_branch(base);
        if let Some(found) = self.fetch(&what, &from, &tracking).await? {
            return Ok(found);
        }
        let found = self.commit_of(&self.settings.clone, &own).await;
        found.map_err(|e| local(&what, &e))?.ok_or_else(|| {
            let words = format!(
                "neither the remote `{}` nor the clone has a branch `{base}`",
                self.settings.remote
            );
            PortError::refused(what, Refusal::NotFound, words)
        })
    }

    pub(super) async fn perform_fetch_ref(&self, name: &RefName) -> PortResult<Option<Sha>> {
        let what = format!("fetch `{name}`");
        // Branches go where git itself keeps them; others where git prunes nothing.
        let to = match name.as_str().strip_prefix("refs/heads/") {
            Some(branch) => format!("refs/remotes/{}/{branch}", self.settings.remote),
            None => format!("refs/ghswarm/fetched/{}", &name.as_str()["refs/".len()..]),
        };
        self.fetch(&what, name, &to).await
    }

    /// Fetches one ref; `None`: the remote has none of that name.
    async fn fetch(&self, what: &str, from: &RefName, to: &str) -> PortResult<Option<Sha>> {
        let _turn = self.serial.turn(self.common().await?).await?;
        let door = self.door(what).await?;
        self.seed(what, &door, to).await?;
        match self.fetch_through(&door, what, from, to).await {
            // The private folder may be what is broken, or the clone's refs; neither is needed.
            Err(e) if e.refusal() == Some(Refusal::Local) => {
                door.forget().map_err(|e| local(what, &e))?;
                let door = self.door(what).await?;
                self.fetch_through(&door, what, from, to).await
            }
            other => other,
        }
    }

    async fn fetch_through(
        &self,
        door: &Door,
        what: &str,
        from: &RefName,
        to: &str,
    ) -> PortResult<Option<Sha>> {
        // The refspec is explicit, since the clone may be a single-branch one, and forced, since
        // bases are rewritten. No maintenance: see `door.rs`.
        let args = [
            "fetch",
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--recurse-submodules=no",
            "--",
        ];
        let call = self.through(door, args).await?.arg(&self.settings.remote);
        let call = call.not_silent_for(self.settings.silence_timeout);
        match self.runner.good(&call.arg(format!("+{from}:{to}"))).await {
            Ok(_) => {}
            Err(e) if is_missing_ref(e.stderr()) => return Ok(None),
            Err(e) => return Err(read_failure(what, &e, &door.advice())),
        }
        door.bring_back().map_err(|e| local(what, &e))?;
        let found = self.commit_in(self.behind(door, []), to).await;
        let found = found.map_err(|e| local(what, &e))?.ok_or_else(|| {
            PortError::refused(what, Refusal::Local, format!("`{to}` is no commit"))
        })?;
        self.track(to, &found).await.map_err(|e| local(what, &e))?;
        Ok(Some(found))
    }

    /// Notes in the clone where the remote is.
    async fn track(&self, name: &str, at: &Sha) -> Result<(), RunError> {
        // A link that somebody made of it (a symbolic ref) is replaced, not followed.
        let update = self.in_clone(["update-ref", "--no-deref", name, at.as_str()]);
        self.runner.good(&update).await.map(drop)
    }

    pub(super) async fn perform_push(&self, push: &Push) -> PortResult<PushOutcome> {
        let what = format!("push {} to `{}`", push.sha.short(), push.to);
        let turn = self.serial.turn(self.common().await?).await?;
        self.push_lfs(&what, push).await?;
        let outcome = self.push_ref(&what, push).await;
        drop(turn);
        outcome
    }

    /// The push alone, in our turn.
    pub(super) async fn push_ref(&self, what: &str, push: &Push) -> PortResult<PushOutcome> {
        let args = [
            "push",
            "--porcelain",
            "--progress",
            "--no-verify",
            "--recurse-submodules=no",
        ];
        let door = self.door(what).await?;
        let call = self.through(&door, args).await?;
        let call = call.not_silent_for(self.settings.silence_timeout);
        let expected = push.expected.as_ref().map_or("", Sha::as_str);
        let call = call
            .arg(format!("--force-with-lease={}:{expected}", push.to))
            .arg("--")
            .arg(&self.settings.remote)
            .arg(format!("{}:{}", push.sha, push.to));
        let output = self
            .runner
            .run(&call)
            .await
            .map_err(|e| write_failure(what, &e))?;
        if output.code == Some(0) {
            self.note_pushed(push).await;
            return Ok(PushOutcome::Pushed);
        }
        rejection(&output).ok_or_else(|| {
            let words = whole_words(&output) + &door.advice();
            write_failure_of(what, &output.stderr, words)
        })
    }

    /// As a push from the clone would have done: what the remote has need not be saved.
    async fn note_pushed(&self, push: &Push) {
        let Some(branch) = push.to.as_str().strip_prefix("refs/heads/") else {
            return;
        };
        let name = format!("refs/remotes/{}/{branch}", self.settings.remote);
        if let Err(error) = self.track(&name, &push.sha).await {
            tracing::warn!(%name, %error, "pushed, but could not note it in the clone");
        }
    }

    /// LFS uploads its objects in a pre-push hook, and hooks are off; without them the remote refuses
    /// the push.
    async fn push_lfs(&self, what: &str, push: &Push) -> PortResult<()> {
        let attributes = format!("{}:.gitattributes", push.sha);
        let show = self.in_clone(["cat-file", "-p"]).arg(attributes);
        let shown = self.runner.run(&show).await.map_err(|e| local(what, &e))?;
        if !shown.text().contains("filter=lfs") {
            return Ok(());
        }
        let door = self.door(what).await?;
        let call = self.through(&door, ["lfs", "push"]).await?;
        let call = call.arg(&self.settings.remote).arg(push.sha.as_str());
        // Objects are named by their content: uploading them again or for nothing does no harm.
        self.runner
            .good(&call)
            .await
            .map(|_| ())
            .map_err(|e| read_failure(what, &e, &door.advice()))
    }

    /// Fills the files that LFS keeps elsewhere into a new worktree: the transfer from the private
    /// folder, with the login; the filling in the worktree, without.
    pub(super) async fn fill_lfs(&self, what: &str, path: &Path) -> PortResult<()> {
        let attributes = std::fs::read(path.join(".gitattributes")).unwrap_or_default();
        if !String::from_utf8_lossy(&attributes).contains("filter=lfs") {
            return Ok(());
        }
        let head = self.commit_of(path, "HEAD").await;
        let Some(head) = head.map_err(|e| local(what, &e))? else {
            return Ok(());
        };
        let door = self.door(what).await?;
        let call = self.through(&door, ["lfs", "fetch"]).await?;
        let call = call.arg(&self.settings.remote).arg(head.as_str());
        match self.runner.good(&call).await {
            Ok(_) => {}
            // Then git itself leaves the pointers in the files too.
            Err(e) if e.stderr().contains("'lfs' is not a git command") => return Ok(()),
            Err(e) => return Err(read_failure(what, &e, &door.advice())),
        }
        let fill = self.call(path, ["lfs", "checkout"]);
        let fill = fill.within(self.settings.network_timeout);
        let filled = self.runner.good(&fill).await;
        filled.map(drop).map_err(|e| local(what, &e))
    }
}

/// What the remote did not like, from `--porcelain`'s lines `!<tab><from>:<to><tab><summary>`.
pub(super) fn rejection(output: &Output) -> Option<PushOutcome> {
    let text = output.text();
    let lines = text.lines().filter_map(|l| l.strip_prefix("!\t"));
    let summaries: Vec<&str> = lines.map(|l| l.split('\t').nth(1).unwrap_or(l)).collect();
    let first = summaries.first()?;
    // The first is git's own comparison, the others the remote's, when somebody was faster.
    let stale = [
        "stale info",
        "incorrect old value",
        "reference already exists",
        "cannot lock ref",
    ];
    let is_stale = |summary: &&str| stale.iter().any(|s| summary.contains(s));
    // Of an atomic push the remote gives its reason beside the refs.
    let raced = ["reference already exists", "but expected"];
    let is_raced = |line: String| raced.iter().any(|s| line.contains(s));
    if summaries.iter().any(is_stale) || remote_lines(&output.stderr).any(is_raced) {
        return Some(PushOutcome::Stale);
    }
    // The refs that a refused one took along say nothing of their own.
    let own = summaries.iter().find(|s| !s.contains("atomic push failed"));
    let mut words = vec![(*own.unwrap_or(first)).to_owned()];
    words.extend(remote_lines(&output.stderr));
    Some(PushOutcome::Refused(words.join("\n")))
}

fn remote_lines(stderr: &str) -> impl Iterator<Item = String> {
    stderr
        .lines()
        .filter_map(|l| l.strip_prefix("remote:"))
        .map(|l| l.trim().to_owned())
        .filter(|l| !l.is_empty())
}

pub(super) fn whole_words(output: &Output) -> String {
    let words = output.stderr.trim();
    if words.is_empty() {
        "git said nothing".to_owned()
    } else {
        words.to_owned()
    }
}

/// The remote answered, and has no such ref.
fn is_missing_ref(stderr: &str) -> bool {
    stderr.contains("couldn't find remote ref")
}

/// How far a failed command got, by its words.
#[derive(Debug, PartialEq, Eq)]
enum Reach {
    /// Never reached the remote.
    NotReached,
    /// The connection broke on the way.
    CutOff,
    /// Too much was asked of it, for now.
    Limited,
    /// The remote refused to talk to us.
    Refused(Refusal),
    /// Anything else.
    Failed,
}

const NOT_REACHED: [&str; 9] = [
    "Could not resolve host",
    "Could not resolve proxy",
    "Couldn't connect to server",
    "Failed to connect",
    "Connection refused",
    "Network is unreachable",
    "No route to host",
    "Temporary failure in name resolution",
    "Name or service not known",
];

const CUT_OFF: [&str; 17] = [
    // What ssh says when the other side drops it; git itself adds only that it could not read.
    "Connection closed",
    "kex_exchange_identification",
    "Could not read from remote repository",
    // An HTTP answer that ends in the middle.
    "transfer closed with",
    "expected flush after ref listing",
    "bad line length",
    "hung up unexpectedly",
    "early EOF",
    "RPC failed",
    "Connection reset",
    "Connection timed out",
    "Operation timed out",
    // Below `http.lowSpeedLimit`.
    "Operation too slow",
    "Empty reply from server",
    "unexpected disconnect",
    "Broken pipe",
    "The requested URL returned error: 5",
];

/// How servers say in words, of any case, that it was too much. GitHub does so with 403 or 429, as for its API:
/// <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api> (2026-11-30).
const LIMITED: [&str; 5] = [
    "rate limit",
    "too many requests",
    "abuse detection",
    "try again later",
    "the requested url returned error: 429",
];

const FORBIDDEN: &str = "The requested URL returned error: 403";

const UNAUTHORISED: [&str; 5] = [
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "Permission denied (publickey",
    "The requested URL returned error: 401",
];

fn reach(stderr: &str) -> Reach {
    let has = |list: &[&str]| list.iter().any(|words| stderr.contains(words));
    // ssh says "Permission denied" and git adds "hung up": the cause comes first.
    if has(&UNAUTHORISED) {
        Reach::Refused(Refusal::Unauthorised)
    } else if is_limited(stderr) {
        Reach::Limited
    } else if has(&[FORBIDDEN]) {
        Reach::Refused(Refusal::Forbidden)
    } else if has(&[
        "Repository not found",
        "repository not found",
        "not found in upstream",
    ]) || (stderr.contains("repository '") && stderr.contains("' not found"))
    {
        Reach::Refused(Refusal::NotFound)
    } else if has(&NOT_REACHED) {
        Reach::NotReached
    } else if has(&CUT_OFF) {
        Reach::CutOff
    } else {
        Reach::Failed
    }
}

/// git does not show the headers that name a limit. But whoever may not do something is told so in words
/// (`remote: Permission to … denied to …`); a 403 that says nothing passes by itself, or is told again.
fn is_limited(stderr: &str) -> bool {
    let lower = stderr.to_lowercase();
    let silent = stderr.contains(FORBIDDEN) && remote_lines(stderr).next().is_none();
    silent || LIMITED.iter().any(|words| lower.contains(words))
}

/// git does not say until when; GitHub asks for a minute at least.
fn limited(what: &str, words: String) -> PortError {
    let until = SystemClock.now() + GIT_LIMITED_WAIT;
    PortError::unavailable(what, words, Some(until))
}

/// A failed read changed nothing, however far it got.
fn read_failure(what: &str, error: &RunError, advice: &str) -> PortError {
    let words = format!("{error}{advice}");
    match (error, reach(error.stderr())) {
        (RunError::TimedOut { .. } | RunError::Mute { .. }, _)
        | (_, Reach::NotReached | Reach::CutOff) => PortError::unavailable(what, words, None),
        (_, Reach::Limited) => limited(what, words),
        (_, Reach::Refused(refusal)) => PortError::refused(what, refusal, words),
        (_, Reach::Failed) => PortError::refused(what, Refusal::Local, words),
    }
}

/// A write that ended without its answer may have happened.
pub(super) fn write_failure(what: &str, error: &RunError) -> PortError {
    match error {
        RunError::TimedOut { .. } | RunError::Mute { .. } => {
            PortError::unknown(what, error.to_string())
        }
        RunError::NotStarted { .. } | RunError::Failed { .. } => {
            write_failure_of(what, error.stderr(), error.to_string())
        }
    }
}

pub(super) fn write_failure_of(what: &str, stderr: &str, words: String) -> PortError {
    match reach(stderr) {
        Reach::NotReached => PortError::unavailable(what, words, None),
        Reach::CutOff => PortError::unknown(what, words),
        Reach::Limited => limited(what, words),
        Reach::Refused(refusal) => PortError::refused(what, refusal, words),
        Reach::Failed => PortError::refused(what, Refusal::Local, words),
    }
}

#[cfg(test)]
mod tests;
