use serde_json::{Value, json};

use super::*;

const MARGINS: LeaseMargins = LeaseMargins {
    grace: std::time::Duration::from_secs(60),
    max_ahead: std::time::Duration::from_secs(300),
    odd_ttl: std::time::Duration::from_secs(240 * 60),
};

fn at(minutes: i64) -> Timestamp {
    "2026-11-30T12:00:00Z".parse::<Timestamp>().unwrap() + TimeDelta::minutes(minutes)
}

fn asker(owner: &str, now: i64) -> Asker<'_> {
    Asker {
        owner,
        ttl_min: 240,
        now: at(now),
        margins: &MARGINS,
    }
}

/// A lease of issue 7, stamped at 12:00.
fn commit(message: &Value) -> LeaseCommit {
    LeaseCommit {
        name: RefName::new("refs/leases/issue-7").unwrap(),
        oid: crate::model::ids::Sha::new("a".repeat(40)).unwrap(),
        date: at(0),
        message: message.to_string(),
    }
}

/// As gh-issue-lease writes it.
fn theirs(owner: &str) -> LeaseCommit {
    commit(&json!({ "v": 1, "issue": 7, "owner": owner, "ttlMin": 240 }))
}

fn seen(commit: &LeaseCommit) -> Seen<'_> {
    Seen {
        commit: Some(commit),
        first_seen: at(0),
    }
}

fn epoch(take: &Take) -> i64 {
    match take {
        Take::Write(Write::Fresh { epoch, .. }) => epoch.0,
        Take::Mine | Take::Held(_) | Take::Write(Write::Again(_)) => panic!("{take:?}"),
    }
}

const NOTHING: Seen<'static> = Seen {
    commit: None,
    first_seen: Timestamp::UNIX_EPOCH,
};

#[test]
fn a_free_issue_is_taken_and_a_grave_is_no_holder() {
    let taken = take(NOTHING, &asker("a", 0), Intent::Claim);
    assert_eq!(epoch(&taken), at(0).timestamp());
    let grave = commit(
        &json!({ "v": 1, "issue": 7, "owner": null, "ttlMin": 0, "epoch": 9_999_999_999_i64 }),
    );
    let taken = take(seen(&grave), &asker("a", 0), Intent::Claim);
    assert_eq!(epoch(&taken), 10_000_000_000, "larger than what was there");
}

#[test]
fn anothers_lease_is_held_until_a_minute_past_its_time() {
    let lease = theirs("b");
    for minutes in [0, 100, 240, 241] {
        let Take::Held(holder) = take(seen(&lease), &asker("a", minutes), Intent::Claim) else {
            panic!("taken after {minutes} min");
        };
        assert_eq!((holder.name(), holder.expires), ("b", at(241)));
    }
    let taken = take(seen(&lease), &asker("a", 242), Intent::Claim);
    let Take::Write(Write::Fresh {
        stolen_from: Some(from),
        ..
    }) = taken
    else {
        panic!("{taken:?}");
    };
    assert_eq!((from.holder.as_str(), from.since), ("b", at(0)));
}

#[test]
fn ones_own_lease_is_stamped_again_past_half_of_its_time() {
    let lease = theirs("a");
    assert_eq!(
        take(seen(&lease), &asker("a", 119), Intent::Claim),
        Take::Mine
    );
    for (minutes, intent) in [
        (120, Intent::Claim),
        (900, Intent::Claim),
        (0, Intent::Renew),
    ] {
        let taken = take(seen(&lease), &asker("a", minutes), intent);
        assert!(matches!(taken, Take::Write(Write::Again(_))), "{taken:?}");
    }
}

#[test]
fn a_renewal_keeps_claim_epoch_and_fields_it_does_not_know() {
    let lease = commit(
        &json!({ "v": 1, "issue": 7, "owner": "a", "ttlMin": 5, "claim": "c-1", "n": "x",
        "epoch": 3, "by": "manual", "colour": "red" }),
    );
    let asker = asker("a", 4);
    let Take::Write(write) = take(seen(&lease), &asker, Intent::Renew) else {
        panic!();
    };
    let marks = Marks {
        claim: ClaimId::new("c-2").unwrap(),
        nonce: "y".to_owned(),
        host: "here".to_owned(),
        pid: 1,
    };
    let text = render(&write, IssueNumber(7), &asker, &marks);
    assert_eq!(
        text,
        r#"{"v":1,"issue":7,"owner":"a","ttlMin":240,"claim":"c-1","n":"y","epoch":3,"by":"manual","colour":"red"}"#
    );
}

#[test]
fn the_loops_time_to_live_is_the_loops_to_set() {
    let lease = commit(
        &json!({ "v": 1, "issue": 7, "owner": "a", "ttlMin": 30, "ttlMs": 1500, "by": "loop" }),
    );
    let Take::Write(Write::Again(fields)) = take(seen(&lease), &asker("a", 0), Intent::Renew)
    else {
        panic!();
    };
    assert_eq!(
        (&fields["ttlMin"], &fields["ttlMs"]),
        (&json!(30), &json!(1500))
    );
}

#[test]
fn a_pop_takes_nothing_that_a_sibling_holds() {
    let lease = commit(&json!({ "v": 1, "issue": 7, "owner": "a", "ttlMin": 240, "claim": "c-1" }));
    let (mine, siblings) = (ClaimId::new("c-1").unwrap(), ClaimId::new("c-2").unwrap());
    assert_eq!(
        take(seen(&lease), &asker("a", 0), Intent::Pop(&mine)),
        Take::Mine
    );
    let taken = take(seen(&lease), &asker("a", 0), Intent::Pop(&siblings));
    assert!(matches!(taken, Take::Held(_)), "{taken:?}");
    let taken = take(seen(&lease), &asker("a", 300), Intent::Pop(&siblings));
    assert!(
        matches!(taken, Take::Write(Write::Fresh { .. })),
        "{taken:?}"
    );
}

#[test]
fn what_cannot_be_read_is_left_alone_for_four_hours() {
    for message in [
        json!("nonsense"),
        json!({ "v": 1, "issue": 7, "owner": "b", "ttlMin": 100_000 }),
    ] {
        let lease = commit(&message);
        for (minutes, free) in [(239, false), (241, true)] {
            let taken = take(seen(&lease), &asker("a", minutes), Intent::Claim);
            assert_eq!(
                matches!(taken, Take::Write(_)),
                free,
                "{message} {minutes} {taken:?}"
            );
        }
    }
}

#[test]
fn only_ones_own_lease_is_released_and_never_a_loops_that_lives() {
    assert_eq!(release(NOTHING, &asker("a", 0)), Release::Nothing);
    let lease = theirs("a");
    assert_eq!(release(seen(&lease), &asker("a", 0)), Release::Delete);
    assert!(matches!(
        release(seen(&lease), &asker("b", 999)),
        Release::Theirs(_)
    ));
    let lease = commit(&json!({ "v": 1, "issue": 7, "owner": "a", "ttlMin": 30, "by": "loop" }));
    assert_eq!(release(seen(&lease), &asker("a", 0)), Release::Loops);
    assert_eq!(release(seen(&lease), &asker("a", 32)), Release::Delete);
    let grave = commit(&json!({ "v": 1, "issue": 7, "owner": null, "ttlMin": 0 }));
    assert_eq!(release(seen(&grave), &asker("a", 0)), Release::Nothing);
}

#[test]
fn what_is_over_or_closed_is_reaped_but_no_living_lease_of_a_loop() {
    let of =
        |by: &str| commit(&json!({ "v": 1, "issue": 7, "owner": "a", "ttlMin": 30, "by": by }));
    let reaped =
        |lease: &LeaseCommit, minutes, open| reap(seen(lease), (at(minutes), &MARGINS), open);
    for by in ["loop", "manual"] {
        let lease = of(by);
        assert_eq!(reaped(&lease, 32, Some(true)), Some(Reap::Expired));
        assert_eq!(reaped(&lease, 1, Some(true)), None);
        assert_eq!(
            reaped(&lease, 1, None),
            None,
            "an issue that is not there says nothing"
        );
    }
    assert_eq!(reaped(&of("loop"), 1, Some(false)), None);
    assert_eq!(reaped(&of("manual"), 1, Some(false)), Some(Reap::Closed));
    let grave = commit(&json!({ "v": 1, "issue": 7, "owner": null, "ttlMin": 0 }));
    assert_eq!(
        reaped(&grave, 999, Some(false)),
        None,
        "a grave stays where it is"
    );
}

#[test]
fn only_refs_of_issues_name_one() {
    let of = |name: &str| issue_of(&RefName::new(name).unwrap(), "leases").map(|issue| issue.0);
    assert_eq!(of("refs/leases/issue-7"), Some(7));
    for other in [
        "refs/leases/slot-1",
        "refs/leases/issue-07",
        "refs/leases/issue-0",
        "refs/leases2/issue-7",
    ] {
        assert_eq!(of(other), None, "{other}");
    }
}
