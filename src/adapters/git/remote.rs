//! Fetch and push, and what their words mean.

use crate::model::ids::{BranchName, RefName, Sha};
use crate::ports::git::{Push, PushOutcome};
use crate::ports::{PortError, PortResult, Refusal};

use super::command::{Output, RunError};
use super::{CliGit, local, look};

impl CliGit {
    pub(super) async fn perform_fetch_base(&self, base: &BranchName) -> PortResult<Sha> {
        let what = format!("fetch the base `{base}`");
        let [tracking, own] = look::bases(&self.settings.remote, base);
        let from = RefName::of_branch(base);
        if self.fetch(&what, &from, &tracking).await? {
            return self.known(&what, &tracking).await;
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
        if !self.fetch(&what, name, &to).await? {
            return Ok(None);
        }
        self.known(&what, &to).await.map(Some)
    }

    /// Fetches one ref; `false`: the remote has none of that name.
    async fn fetch(&self, what: &str, from: &RefName, to: &str) -> PortResult<bool> {
        let _turn = self.serial.turn(self.common().await?).await?;
        // The refspec is explicit, since the clone may be a single-branch one, and forced, since
        // bases are rewritten.
        let args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let call = self.network(&self.settings.clone, args).await?;
        let call = call
            .arg("--recurse-submodules=no")
            .arg("--")
            .arg(&self.settings.remote);
        match self.runner.good(&call.arg(format!("+{from}:{to}"))).await {
            Ok(_) => Ok(true),
            Err(e) if is_missing_ref(e.stderr()) => Ok(false),
            Err(e) => Err(read_failure(what, &e)),
        }
    }

    async fn known(&self, what: &str, name: &str) -> PortResult<Sha> {
        let found = self.commit_of(&self.settings.clone, name).await;
        found.map_err(|e| local(what, &e))?.ok_or_else(|| {
            PortError::refused(what, Refusal::Local, format!("`{name}` is no commit"))
        })
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
            "--no-verify",
            "--recurse-submodules=no",
        ];
        let call = self.network(&self.settings.clone, args).await?;
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
            return Ok(PushOutcome::Pushed);
        }
        match rejection(&output) {
            Some(outcome) => Ok(outcome),
            None => Err(write_failure_of(what, &output.stderr, whole_words(&output))),
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
        let call = self.network(&self.settings.clone, ["lfs", "push"]).await?;
        let call = call.arg(&self.settings.remote).arg(push.sha.as_str());
        // Objects are named by their content: uploading them again or for nothing does no harm.
        self.runner
            .good(&call)
            .await
            .map(|_| ())
            .map_err(|e| read_failure(what, &e))
    }
}

/// What the remote did not like, from `--porcelain`'s line `!<tab><from>:<to><tab><summary>`.
fn rejection(output: &Output) -> Option<PushOutcome> {
    let text = output.text();
    let line = text.lines().find_map(|l| l.strip_prefix("!\t"))?;
    let summary = line.split('\t').nth(1).unwrap_or(line);
    // The first is git's own comparison, the others the remote's, when somebody was faster.
    let stale = [
        "stale info",
        "incorrect old value",
        "reference already exists",
        "cannot lock ref",
    ];
    if stale.iter().any(|s| summary.contains(s)) {
        return Some(PushOutcome::Stale);
    }
    let mut words = vec![summary.to_owned()];
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

fn whole_words(output: &Output) -> String {
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

const CUT_OFF: [&str; 11] = [
    "hung up unexpectedly",
    "early EOF",
    "RPC failed",
    "Connection reset",
    "Connection timed out",
    "Operation timed out",
    "Empty reply from server",
    "unexpected disconnect",
    "Broken pipe",
    "The requested URL returned error: 5",
    "The requested URL returned error: 429",
];

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
    } else if has(&["The requested URL returned error: 403"]) {
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

/// A failed read changed nothing, however far it got.
fn read_failure(what: &str, error: &RunError) -> PortError {
    match (error, reach(error.stderr())) {
        (RunError::TimedOut { .. }, _) | (_, Reach::NotReached | Reach::CutOff) => {
            PortError::unavailable(what, error.to_string(), None)
        }
        (_, Reach::Refused(refusal)) => PortError::refused(what, refusal, error.to_string()),
        (_, Reach::Failed) => local(what, error),
    }
}

/// A write that ended without its answer may have happened.
fn write_failure(what: &str, error: &RunError) -> PortError {
    match error {
        RunError::TimedOut { .. } => PortError::unknown(what, error.to_string()),
        RunError::NotStarted { .. } | RunError::Failed { .. } => {
            write_failure_of(what, error.stderr(), error.to_string())
        }
    }
}

fn write_failure_of(what: &str, stderr: &str, words: String) -> PortError {
    match reach(stderr) {
        Reach::NotReached => PortError::unavailable(what, words, None),
        Reach::CutOff => PortError::unknown(what, words),
        Reach::Refused(refusal) => PortError::refused(what, refusal, words),
        Reach::Failed => PortError::refused(what, Refusal::Local, words),
    }
}
