//! Text of people who are not trusted: no agent sees it before somebody who is has read it.

use crate::model::limits::UNTRUSTED_COMMENTS_MAX;
use crate::model::phase::Phase;
use crate::model::state::{BlockedReason, IssueState};
use crate::model::trust::TextTrust;

use super::effect::Effect;
use super::view::View;
use super::{Decision, Why};

const REASON: BlockedReason = BlockedReason::UntrustedText;

/// A stranger's words must not reach an agent with permissions off. After the merge no agent reads them
/// any more.
pub(super) fn guard(view: &View<'_>) -> Option<Decision> {
    if matches!(view.phase(), Phase::VerifyMerge | Phase::Done) {
        return None;
    }
    let TextTrust::Untrusted { hash, because } = &view.trust else {
        return None;
    };
    if let Some(run) = view.live_run() {
        let why = Why::Blocking { reason: REASON };
        return Some(Decision::act(Effect::StopRun(run.key.clone()), why));
    }
    let mut state = view.next_state();
    let detail = format!(
        "{because}. If you have read the title and the text and want them acted on as they are \
         now, a trusted person comments: `/ghswarm approve {}`",
        short(hash)
    );
    view.mark_blocked(&mut state, REASON, detail);
    said_enough(view, &mut state);
    Some(view.write(state, Why::Blocking { reason: REASON }))
}

/// As much of a text's hash as a person has to repeat.
fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

/// Blocks once more where the text changed after we said what is to be approved.
pub(super) fn anew(view: &View<'_>) -> Option<Decision> {
    let TextTrust::Untrusted { hash, .. } = &view.trust else {
        return None;
    };
    let said = view.state.blocked_reason == Some(REASON);
    let detail = view.state.blocked_detail.as_deref().unwrap_or_default();
    (said && !detail.contains(short(hash)))
        .then(|| guard(view))
        .flatten()
}

/// After the last comment that is allowed only the checkpoint names the newest text: its key is one that
/// was said already, so no comment follows.
fn said_enough(view: &View<'_>, state: &mut IssueState) {
    let about = format!("/{}-", REASON.code());
    let comments = view.seen.look.comments.iter();
    let keys: Vec<&str> = comments
        .filter(|comment| {
            let author = comment.author.as_ref();
            let later = |resumed| comment.created_at > resumed;
            author.is_some_and(|author| author.login == *view.operator())
                && view.state.resumed_at.is_none_or(later)
        })
        .filter_map(|comment| crate::model::comment::key_of(&comment.body))
        .filter(|key| key.contains(&about))
        .collect();
    if keys.len() >= UNTRUSTED_COMMENTS_MAX {
        state.blocked_key = keys.last().map(|key| (*key).to_owned());
        let detail = state.blocked_detail.take().unwrap_or_default();
        state.blocked_detail = Some(format!(
            "{detail} (the text changed {} times and more; only the checkpoint is brought up to date now)",
            keys.len()
        ));
    }
}
