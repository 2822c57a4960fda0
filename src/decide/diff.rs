//! What a push must not carry. Everybody who reads the repository can fetch what was pushed, to whatever
//! ref and however soon it is taken out again, so every commit counts and not only the last one. It is looked
//! at before the agents that read the work are paid, and once more before the push.

use crate::model::closing::closings;
use crate::model::comment::head;
use crate::model::ids::Sha;
use crate::model::limits::{PUSHED_FILE_BYTES_MAX, REFUSED_NAMED_MAX, REFUSED_SHOWN_BYTES};
use crate::model::outgoing::{OutgoingChange, OutgoingCommit, OutgoingSecret, SecretPlace};
use crate::model::paths::holds_secrets;
use crate::model::phase::Phase;
use crate::model::pr::MergeMethod;
use crate::model::state::BlockedReason;

use super::Decision;
use super::view::View;

/// Blocks with all that must not be pushed, and how to get it out of the branch.
pub(super) fn refuse(view: &View<'_>) -> Option<Decision> {
    let files = files(view);
    let secrets = secrets(view);
    let words = words(view);
    let all = || files.iter().chain(&secrets).chain(&words);
    all().next()?;
    let ways: Vec<String> = way_out_of_files(view, &files)
        .into_iter()
        .chain(way_out_of_secrets(view, &secrets))
        .chain(way_out_of_words(view, &words))
        .collect();
    let named: Vec<&str> = all().map(|offence| offence.what.as_str()).collect();
    let more = named.len().saturating_sub(REFUSED_NAMED_MAX);
    let more = if more == 0 {
        String::new()
    } else {
        format!("; and {more} more")
    };
    let named = named[..named.len().min(REFUSED_NAMED_MAX)].join("; ");
    let detail = format!("{named}{more}. {}", ways.join(" "));
    Some(view.block(BlockedReason::DiffRefused, detail))
}

/// Does a commit hold what must not leave this machine, not even to save the work?
pub(super) fn holds_what_stays_here(view: &View<'_>) -> bool {
    !files(view).is_empty() || !secrets(view).is_empty()
}

impl View<'_> {
    /// Does the next decision depend on what the commits bring along? Besides, nothing of them is saved unseen.
    pub fn looks_at_diff(&self) -> bool {
        match self.phase() {
            Phase::CreatePr => true,
            Phase::Start | Phase::Implement | Phase::Simplify | Phase::AiReview => {
                self.live_run().is_none()
                    && self.worktree().is_some_and(|tree| tree.differs_from_base)
            }
            Phase::WaitCi | Phase::VerifyMerge | Phase::Done | Phase::WaitForClarification => false,
        }
    }
}

/// Something in a commit that must not be pushed.
struct Offence<'a> {
    commit: &'a Sha,
    /// For people, with the commit's name.
    what: String,
}

/// Files of secrets, protected ones and those that GitHub does not take, oldest commit first.
fn files<'a>(view: &View<'a>) -> Vec<Offence<'a>> {
    let found = view.seen.outgoing.iter().flat_map(|commit| {
        let offence = |change: &OutgoingChange| {
            let why = refusal_of(view, change)?;
            let (at, path) = (commit.sha.short(), shown(&change.path));
            let what = format!("commit {at} changes `{path}` ({why})");
            Some(Offence {
                commit: &commit.sha,
                what,
            })
        };
        commit
            .changes
            .iter()
            .filter_map(offence)
            .collect::<Vec<_>>()
    });
    found.collect()
}

fn refusal_of(view: &View<'_>, change: &OutgoingChange) -> Option<String> {
    let protected = &view.policy.protected_paths;
    if holds_secrets(&change.path) {
        return Some("a file with secrets".to_owned());
    }
    if protected.iter().any(|p| p.matches(&change.path)) {
        return Some("`protected_paths`".to_owned());
    }
    let mib = |bytes: u64| bytes.div_ceil(1024 * 1024);
    let large = change.bytes > PUSHED_FILE_BYTES_MAX;
    large.then(|| {
        let (size, limit) = (mib(change.bytes), mib(PUSHED_FILE_BYTES_MAX));
        format!("{size} MiB; GitHub refuses files over {limit} MiB")
    })
}

/// What looks like a secret, or is one that this machine knows, oldest commit first.
fn secrets<'a>(view: &View<'a>) -> Vec<Offence<'a>> {
    let found = view.seen.outgoing.iter().flat_map(|commit| {
        let offence = |secret: &OutgoingSecret| {
            let line = secret.line;
            let place = match &secret.place {
                SecretPlace::File(path) => format!("line {line} of `{}`", shown(path)),
                SecretPlace::Name(path) => format!("in the name of the file `{}`", shown(path)),
                SecretPlace::Message => format!("line {line} of its message"),
                SecretPlace::Header => "in its author or committer".to_owned(),
            };
            let (at, kind) = (commit.sha.short(), secret.kind);
            let what = format!("commit {at} brings along {kind}: {place}");
            Offence {
                commit: &commit.sha,
                what,
            }
        };
        commit.secrets.iter().map(offence).collect::<Vec<_>>()
    });
    found.collect()
}

/// Messages that close an issue which is not the one that is worked on. A squash has our words instead of theirs.
fn words<'a>(view: &View<'a>) -> Vec<Offence<'a>> {
    match view.policy.merge_method {
        MergeMethod::Squash => return Vec::new(),
        MergeMethod::Merge | MergeMethod::Rebase => {}
    }
    let (repo, issue) = (&view.seen.repo.slug, view.issue.number);
    let foreign = |commit: &'a OutgoingCommit| {
        let found = closings(&commit.message).into_iter();
        let found = found.filter(|closing| !closing.is_of(repo, issue));
        found.map(|closing| Offence {
            commit: &commit.sha,
            what: format!(
                "line {} of the message of commit {} would close another issue when it is merged: `{}`",
                closing.line,
                commit.sha.short(),
                shown(&closing.words)
            ),
        })
    };
    view.seen.outgoing.iter().flat_map(foreign).collect()
}

/// All commits from the first bad one on become one, without what is bad: no conflicts on the way.
fn way_out_of_files(view: &View<'_>, files: &[Offence<'_>]) -> Option<String> {
    let first = files.first()?.commit.short();
    Some(format!(
        "A later commit does not take a file out of the history. In {}: `git reset --soft {first}^`, for \
         each of these files that `git status` still names `git restore --staged --worktree FILE`, \
         then `git commit`.",
        place(view)
    ))
}

/// There is no key that lets one through: whoever could set it for a fixture could for a token, too.
fn way_out_of_secrets(view: &View<'_>, secrets: &[Offence<'_>]) -> Option<String> {
    let first = secrets.first()?.commit.short();
    Some(format!(
        "A secret that is alive should be replaced where it is valid. In {}: `git reset --soft {first}^`, take it \
         out of the file or rename that, `git add` it, then `git commit` with a message, and as somebody \
         (`git config user.name`), without it. No key of the \
         configuration allows it; a made-up token of a test passes when it is put together from two parts.",
        place(view)
    ))
}

fn way_out_of_words(view: &View<'_>, words: &[Offence<'_>]) -> Option<String> {
    let first = words.first()?.commit;
    let newest = view.seen.outgoing.last().map(|commit| &commit.sha);
    let command = if newest == Some(first) {
        "`git commit --amend`".to_owned()
    } else {
        let at = first.short();
        format!(
            "`git rebase -i {at}^` with `reword` for each of them (the newest alone: `git commit --amend`)"
        )
    };
    Some(format!(
        "To change a message, in {}: {command}; or set `merge_method: squash`.",
        place(view)
    ))
}

fn place(view: &View<'_>) -> String {
    view.worktree().map_or_else(
        || "the worktree".to_owned(),
        |tree| format!("`{}`", tree.path.display()),
    )
}

/// Others' words, fit to stand in a code span.
fn shown(text: &str) -> String {
    let plain = |c: char| if c == '`' || c.is_control() { '\'' } else { c };
    head(text, REFUSED_SHOWN_BYTES).chars().map(plain).collect()
}
