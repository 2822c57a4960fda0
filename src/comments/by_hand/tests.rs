use super::*;
use crate::model::claim::{ByHand, HandStage};
use crate::model::comment::{is_finished, key_of, lock_markers, parse_checkpoint};
use crate::model::ids::{ClaimId, Epoch, PrNumber};

fn record(lead: Option<u64>) -> ClaimRecord {
    ClaimRecord {
        repo: "acme/widgets".parse().unwrap(),
        issue: IssueNumber(7),
        claim: ClaimId::new("c-1").unwrap(),
        epoch: Epoch(12),
        branch: "issue-7".parse().unwrap(),
        worktree: "/home/ann/my trees/issue-7".into(),
        at: "2026-01-02T03:04:05Z".parse().unwrap(),
        lease_oid: None,
        hand: Some(ByHand {
            stage: HandStage::Claiming,
            assigned: true,
            lead: lead.map(IssueNumber),
            displaced: None,
            replaces: None,
        }),
    }
}

fn words(record: &ClaimRecord) -> Placed<'_> {
    Placed {
        record,
        operator: Login::new("ann").unwrap(),
        host: "mbp".to_owned(),
        marker: "claude-lock".to_owned(),
        label: "agent-claimed".to_owned(),
        ttl_minutes: 240,
        stale_hours: 24,
    }
}

#[test]
fn a_lock_comment_parses_back_and_its_end_keeps_the_record() {
    let record = record(None);
    let text = placed(&words(&record));
    let read = parse_checkpoint(&text, "claude-lock").unwrap();
    let lock = read.lock.unwrap();
    assert_eq!(
        (lock.by, lock.claim),
        (LockBy::Manual, Some(record.claim.clone()))
    );
    assert_eq!(lock.worktree.as_deref(), Some("/home/ann/my trees/issue-7"));
    assert!(!read.finished && read.state.is_none());
    let ending = Ending::Blocked {
        reason: "waits for @bob and #3".to_owned(),
    };
    let text = over(&words(&record), &ending);
    let read = parse_checkpoint(&text, "claude-lock").unwrap();
    assert!(read.finished && read.lock.is_some());
    assert!(text.contains("Session lock released — blocked"), "{text}");
    assert!(!text.contains("@bob"), "mentions are tamed: {text}");
}

#[test]
fn a_bundled_comment_names_its_lead_and_no_worktree() {
    let record = record(Some(3));
    let text = placed(&words(&record));
    let lock = lock_markers(&text, "claude-lock").pop().unwrap();
    assert_eq!(lock.bundled_with, Some(IssueNumber(3)));
    assert_eq!((lock.worktree, lock.branch), (None, None));
    assert_eq!(key_of(&text), Some("7/12/bundled"));
    let merged = Ending::Merged {
        pr: PrNumber(9),
        base: "main".parse().unwrap(),
    };
    assert!(is_finished(&over(&words(&record), &merged)));
}

#[test]
fn every_ending_says_the_words_that_other_tools_look_for() {
    let record = record(None);
    let base: crate::model::ids::BranchName = "main".parse().unwrap();
    let pr = PrNumber(9);
    let merged = Ending::Merged {
        pr,
        base: base.clone(),
    };
    let text = released(&record, &merged).unwrap();
    assert_eq!(
        text,
        "<!-- ghswarm:key=7/12/released -->\nResolved by PR #9 (merged into `main`).\n\n\
         Session lock released — PR #9 merged.\n"
    );
    let cleared = |merged| Ending::Cleared {
        operator: Login::new("bob").unwrap(),
        merged,
        because: "PR #9 was closed without merging".to_owned(),
    };
    let text = released(&record, &cleared(Some((pr, base)))).unwrap();
    assert!(
        text.contains("Releasing stale lock held by `bob` — PR #9 merged"),
        "{text}"
    );
    let text = released(&record, &cleared(None)).unwrap();
    assert!(
        text.contains("`bob` — PR #9 was closed without merging."),
        "{text}"
    );
    assert!(text.contains("Session lock released"), "{text}");
    assert_eq!(released(&record, &Ending::TakenBack), None);
}

#[test]
fn a_take_over_names_the_old_owner_and_ends_the_old_lock() {
    let record = record(None);
    let mut old = Displaced {
        who: "@bob".to_owned(),
        since: Some(record.at),
        because: "@ann ordered it".to_owned(),
        unassign: Vec::new(),
        by_order: true,
    };
    let ann = Login::new("ann").unwrap();
    let text = displaced(&record, &old, &ann);
    assert!(
        text.contains("2026-01-02 03:04:05") && text.contains("Session lock released"),
        "{text}"
    );
    old.by_order = false;
    let text = displaced(&record, &old, &ann);
    assert!(text.contains("Reclaiming stale lock from"), "{text}");
}
