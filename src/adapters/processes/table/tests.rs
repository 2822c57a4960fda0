//! Who belongs to a run, from the table.

use std::process::{Command, Stdio};

use super::*;

#[cfg(target_os = "linux")]
#[test]
fn a_process_name_with_parentheses_does_not_shift_the_columns() {
    let any = parse_stat(7, "7 (a) b (c)) S 3 5 5 0 -1").unwrap();
    assert_eq!(
        any.row,
        Row {
            pid: 7,
            parent: 3,
            group: 5
        }
    );
    assert!(!any.zombie);
}

#[test]
fn a_grandchild_descends_and_a_circle_ends() {
    let parents = HashMap::from([(4, 3), (3, 2), (9, 8), (8, 9)]);
    assert!(descends(&parents, 4, 2));
    assert!(!descends(&parents, 4, 7));
    assert!(!descends(&parents, 9, 2));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test needs a child")]
fn what_the_supervisor_started_for_itself_is_no_member() {
    // It ends when its input does.
    let mut child = Command::new("sh")
        .args(["-c", "cat; exit 7"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let tag = Tag {
        key: "none".to_owned(),
        folder: "/nowhere".to_owned(),
    };
    let roots = Roots {
        group: None,
        supervisor: i32::try_from(std::process::id()).ok(),
    };
    let of_child = || {
        let found = members(&tag, &roots).unwrap();
        let here = |row: &&Row| row.pid == pid || row.parent == pid;
        found.iter().filter(here).count()
    };
    assert!(of_child() >= 1);
    let ours = own::Own::child(Some(child.id()));
    assert_eq!(of_child(), 0, "and neither is what it started");
    drop(ours);
    assert!(of_child() >= 1);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn the_status_of_what_is_still_waited_for_is_left_alone() {
    let zombie = |pid| AnyRow {
        row: Row {
            pid,
            parent: 1,
            group: pid,
        },
        zombie: true,
    };
    let ours = BTreeSet::from([7]);
    let reaped = |row: &AnyRow| is_adopted(row, 1, Some(8), &ours);
    assert!(reaped(&zombie(6)));
    assert!(!reaped(&zombie(7)), "git's");
    assert!(!reaped(&zombie(8)), "the command's");
    let alive = AnyRow {
        zombie: false,
        ..zombie(6)
    };
    assert!(!reaped(&alive));
}
