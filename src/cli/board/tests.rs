use super::*;
use crate::model::ids::{IssueNumber, Login, PrNumber, Timestamp};
use crate::model::phase::Phase;

fn row(issue: u64, title: &str, run: Run) -> BoardRow {
    BoardRow {
        issue: IssueNumber(issue),
        title: title.to_owned(),
        url: String::new(),
        run,
        assignees: Vec::new(),
        labels: Vec::new(),
        prs: Vec::new(),
        comment: None,
        worktree: None,
    }
}

/// One of everything that the Run column says.
fn every_kind() -> Vec<BoardRow> {
    let who = || "@ann (`7f3a` on `mbp.local`)".to_owned();
    let since: Option<Timestamp> = Some("2026-09-06T12:04:10Z".parse().unwrap());
    let mut claimed = row(
        42,
        "The build is flaky on machines that are slow, and only on Mondays",
        Run::Claimed {
            who: who(),
            since,
            ours: true,
        },
    );
    claimed.assignees = vec![Login::new("ann").unwrap()];
    claimed.prs = vec![PrNumber(61)];
    let running = Run::Running {
        phase: Phase::Implement,
        who: who(),
        since,
    };
    let stale = Run::Stale {
        who: "@bob".to_owned(),
        since,
    };
    let taken = Run::Taken {
        why: crate::decide::Why::AssignedTo {
            login: Login::new("carol").unwrap(),
        },
    };
    let behind = Run::BlockedBy {
        issues: vec![IssueNumber(7), IssueNumber(42)],
        sub_issues: 2,
    };
    vec![
        row(7, "Count the apples", Run::Free),
        claimed,
        row(43, "Sell pears", running),
        row(44, "Sell \x1b[31mplums", stale),
        row(45, "A decision of people", Run::Hold),
        row(46, "Sell grapes", taken),
        row(47, "Sell fruit salad", behind),
        row(
            48,
            "Sell figs",
            Run::Waiting {
                phase: Phase::WaitCi,
            },
        ),
        row(
            49,
            "Sell dates",
            Run::Blocked {
                reason: "no_changes".to_owned(),
            },
        ),
    ]
}

#[test]
fn the_board_fits_a_narrow_terminal() {
    let table = table(&every_kind(), 80);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    insta::assert_snapshot!(table);
}

#[test]
fn the_board_uses_a_wide_terminal() {
    let table = table(&every_kind(), 200);
    assert!(
        table.lines().all(|line| line.chars().count() <= 200),
        "{table}"
    );
    insta::assert_snapshot!(table);
}
