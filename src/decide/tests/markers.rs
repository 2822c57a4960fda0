//! Which markers in comments keep others away, and for how long.
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a view's own methods are not general enough in its lifetime to be named instead"
)]

use std::time::Duration;

use super::given::*;
use crate::decide::TakeOver;
use crate::decide::markers::MarkerStanding;
use crate::model::comment::FINISHED_MARKER;
use crate::model::ids::{IssueNumber, PrNumber, RepoId};
use crate::model::issue::LinkedPr;
use crate::model::phase::Phase;

/// A marker of bob's, placed at noon.
const BOBS: &str =
    "<!-- claude-lock: operator=bob worktree=/w branch=bobs at=2026-01-02T12:00:00Z by=manual -->";

fn later(given: Given, hours: u64) -> Given {
    given.with(|given| given.seen.look.at += Duration::from_secs(hours * 3600))
}

fn refuses(given: &Given) -> String {
    let why = given.view_of(|view| view.refuses_hand());
    why.map(|why| why.code()).unwrap_or_default()
}

fn linked(branch: &str, repo: u64) -> LinkedPr {
    LinkedPr {
        number: PrNumber(9),
        head_repo: Some(RepoId(repo)),
        head_ref: branch.parse().unwrap(),
        url: "https://x/9".to_owned(),
    }
}

/// Loop and hand ask the same question.
fn both(given: &Given, code: &str) {
    assert_eq!(refuses(given), code);
    let decided = given.decide();
    let free = decided.why().code() == "free_to_claim";
    assert_eq!(free, code.is_empty(), "{decided:?}");
}

#[test]
fn a_manual_marker_is_live_while_it_is_young() {
    let given = snapshot().comment("bob", BOBS);
    both(&given, "claimed_by_comment");
    both(&later(given.clone(), 23), "claimed_by_comment");
    both(&later(given, 24), "");
}

#[test]
fn an_old_manual_marker_is_live_while_a_pull_request_is_open() {
    let given = later(snapshot().comment("bob", BOBS), 100);
    // From the branch that the loop would use too: then the pull request itself refuses nobody.
    let ours = given
        .clone()
        .with(|given| given.issue().linked_prs = vec![linked("issue-42", 1)]);
    both(&ours, "claimed_by_comment");
    // Not linked at all, but from the marker's branch.
    let text = BOBS.replace("bobs", "issue-42");
    let unlinked = later(snapshot().comment("bob", &text), 100).pr(|_| {});
    both(&unlinked, "claimed_by_comment");
    // From a fork, under the marker's branch.
    let fork = given
        .clone()
        .with(|given| given.issue().linked_prs = vec![linked("bobs", 77)]);
    both(&fork, "claimed_by_comment");
    // A stranger's fork keeps no lock alive.
    let stranger = given.with(|given| given.issue().linked_prs = vec![linked("x", 77)]);
    both(&stranger, "");
}

#[test]
fn a_marker_that_says_it_is_from_the_future_gets_stale_all_the_same() {
    let text = BOBS.replace("2026-01-02", "2099-01-02");
    both(&later(snapshot().comment("bob", &text), 24), "");
}

#[test]
fn a_marker_without_a_time_is_as_old_as_its_comment() {
    let text = BOBS.replace(" at=2026-01-02T12:00:00Z", "");
    let given = snapshot().comment("bob", &text);
    both(&given, "claimed_by_comment");
    both(&later(given, 24), "");
}

#[test]
fn a_finished_or_released_marker_claims_nothing() {
    both(
        &snapshot().comment("bob", &format!("{BOBS}\n{FINISHED_MARKER}\n")),
        "",
    );
    let released = snapshot()
        .comment("bob", BOBS)
        .comment("bob", "Session lock released — PR #7 merged.");
    both(&released, "");
    // Who quotes or mentions the words releases nothing, nor does a stranger.
    for text in [
        "> Session lock released",
        "Is it `Session lock released` by now?",
    ] {
        let quoted = snapshot().comment("bob", BOBS).comment("bob", text);
        both(&quoted, "claimed_by_comment");
    }
    let mut stranger = released;
    let comment = stranger.seen.look.comments.last_mut().unwrap();
    comment.association = crate::model::issue::Association::None;
    both(&stranger, "claimed_by_comment");
}

#[test]
fn of_one_operators_markers_only_the_newest_counts() {
    let finished = format!("{BOBS}\n{FINISHED_MARKER}\n");
    both(
        &snapshot().comment("bob", BOBS).comment("bob", &finished),
        "",
    );
    both(
        &snapshot().comment("bob", &finished).comment("bob", BOBS),
        "claimed_by_comment",
    );
}

#[test]
fn a_bundled_marker_is_worth_what_its_lead_is() {
    let text = "<!-- claude-lock: bundled_with=#7 operator=bob at=2026-01-02T12:00:00Z -->";
    let given = snapshot().comment("bob", text);
    let lead = |given: &Given, live| {
        let given = given.clone();
        given.with(|given| given.seen.leads.extend([(IssueNumber(7), live)]))
    };
    assert_eq!(given.view_of(|view| view.leads()), [IssueNumber(7)]);
    both(&lead(&given, true), "claimed_by_comment");
    both(&lead(&given, false), "");
    both(&lead(&later(given, 100), true), "claimed_by_comment");
}

#[test]
fn the_assignee_of_a_stale_manual_claim_comes_off_with_the_reclaim() {
    let given = snapshot()
        .comment("bob", BOBS)
        .with(|given| given.issue().assignees = vec![login("bob"), login("carol")]);
    both(&given, "claimed_by_comment");
    let alone = later(given.clone(), 24).with(|given| {
        given.issue().assignees.pop();
    });
    both(&alone, "");
    let displaced = alone.view_of(|view| view.displaces(TakeOver::No)).unwrap();
    assert_eq!(
        (displaced.who.as_str(), displaced.since),
        ("@bob", Some(start_time()))
    );
    assert_eq!(displaced.unassign, [login("bob")]);
    assert!(!displaced.by_order);
    // Somebody who never placed a marker is no dead session.
    both(&later(given, 24), "assigned_to");
}

#[test]
fn a_reclaimed_marker_stays_over_when_our_own_pull_request_opens() {
    let stale = later(snapshot().comment("bob", BOBS), 30).claimed();
    let notice = stale.view_of(|view| view.reclaim_notice()).unwrap();
    assert_eq!(
        (notice.from.as_str(), notice.since),
        ("@bob", Some(start_time()))
    );
    let said = stale
        .comment("op", "Reclaiming stale lock from @bob.")
        .pr(|_| {});
    assert_eq!(said.view_of(|view| view.reclaim_notice()), None);
    assert_eq!(
        said.view_of(|view| view.rival(None).map(|rival| rival.at)),
        None
    );
}

#[test]
fn an_order_displaces_what_is_live_and_names_it() {
    let given = snapshot()
        .comment("bob", BOBS)
        .with(|given| given.issue().assignees = vec![login("bob")]);
    let displaced = given
        .view_of(|view| view.displaces(TakeOver::Ordered))
        .unwrap();
    assert!(displaced.by_order);
    assert_eq!(displaced.who, "@bob");
    let nobody = snapshot().view_of(|view| view.displaces(TakeOver::Ordered));
    assert_eq!(nobody, None);
}

#[test]
fn a_claim_by_hand_stays_off_a_pull_request_that_another_operator_opened() {
    let given = in_phase(Phase::WaitCi).pr(|pr| pr.author = Some(person("bob")));
    assert_eq!(refuses(&given), "other_pull_request");
    assert_eq!(refuses(&in_phase(Phase::WaitCi).pr(|_| {})), "");
}

#[test]
fn what_stops_everybody_stops_a_claim_by_hand() {
    assert_eq!(
        refuses(&snapshot().labels(&[])),
        "",
        "no status label is needed"
    );
    assert_eq!(refuses(&snapshot().labels(&["do-not-dispatch"])), "on_hold");
    let closed = snapshot().with(|given| given.issue().open = false);
    assert_eq!(refuses(&closed), "issue_closed");
    let live = snapshot().lease(OTHER_CLAIM, 300, 1);
    assert_eq!(refuses(&live), "claimed_elsewhere");
}

#[test]
fn who_holds_it_is_told_from_lease_and_comment_together() {
    let text = BOBS.replace("by=manual", "by=manual claim=c-other");
    let given = snapshot().lease(OTHER_CLAIM, 300, 1).comment("bob", &text);
    let held = given.view_of(|view| view.holding()).unwrap();
    assert_eq!(held.who, "@bob (`owner of c-other`)");
    assert_eq!(held.worktree.as_deref(), Some("/w"));
    assert_eq!(held.since, Some(start_time()));
    assert!(held.expires.is_some() && held.url.is_some() && !held.stale && !held.ours);
    let old = later(snapshot().comment("bob", BOBS), 30);
    assert!(old.view_of(|view| view.holding()).unwrap().stale);
    assert_eq!(snapshot().view_of(|view| view.holding()), None);
    let standing = old.view_of(|view| view.markers()[0].standing);
    assert_eq!(standing, MarkerStanding::Stale);
}
