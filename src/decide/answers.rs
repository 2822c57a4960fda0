//! Answers to an agent's question: what people who count have said since it was asked.

use crate::model::comment::{answer_in, asks, is_posted_by_ghswarm};
use crate::model::issue::Comment;

use super::view::View;

/// The answers, oldest first. Where the question was never posted, whatever people who count have said.
pub fn since_question<'a>(view: &View<'a>) -> Vec<&'a str> {
    let comments = &view.seen.look.comments;
    // A stranger who writes as we do would hide the answers that stand before it.
    let asked = comments.iter().rposition(|comment| {
        let ours = comment.author.as_ref();
        ours.is_some_and(|author| author.login == *view.operator()) && asks(&comment.body)
    });
    let since = asked.map_or(0, |index| index + 1);
    comments[since..]
        .iter()
        .filter(|comment| view.counts(comment))
        .filter_map(answer)
        .collect()
}

/// What a comment answers; none: it is of ghswarm, or an order to it.
fn answer(comment: &Comment) -> Option<&str> {
    if is_posted_by_ghswarm(&comment.body) {
        return answer_in(&comment.body);
    }
    let text = comment.body.trim();
    (!text.is_empty() && !text.starts_with("/ghswarm")).then_some(&comment.body)
}
