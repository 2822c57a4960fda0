//! The event store, on real files: whole, missing, damaged, locked.

use std::fs;

use super::*;

fn event(n: u64) -> Event {
    Event {
        at: chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap() + Duration::from_secs(n),
        repository: if n.is_multiple_of(2) { "even" } else { "odd" }.to_owned(),
        issue: (n != 0).then_some(IssueNumber(n)),
        kind: "step".to_owned(),
        phase: Some("implement".to_owned()),
        what: format!("event {n}"),
        detail: serde_json::json!({ "n": n }),
    }
}

fn store() -> (tempfile::TempDir, SqliteEvents) {
    let folder = tempfile::tempdir().unwrap();
    let mut events = SqliteEvents::new(&folder.path().join("deep/events.db"));
    events.busy_wait = Duration::from_millis(50);
    (folder, events)
}

#[test]
fn nobody_else_may_read_what_happened() {
    let (folder, events) = store();
    events.record(&event(0));
    let path = folder.path().join("deep/events.db");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    // One that was made before.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    SqliteEvents::new(&path).record(&event(1));
    assert_eq!(mode(), 0o600);
}

#[test]
fn events_come_back_oldest_first_and_filtered() {
    let (_folder, events) = store();
    for n in 0..6 {
        events.record(&event(n));
    }
    let all = EventQuery::default();
    assert_eq!(
        events.read(&all).unwrap(),
        (0..6).map(event).collect::<Vec<_>>()
    );
    let two = EventQuery {
        limit: Some(2),
        ..all.clone()
    };
    assert_eq!(events.read(&two).unwrap(), [event(4), event(5)]);
    let even = EventQuery {
        repository: Some("even".to_owned()),
        ..all.clone()
    };
    assert_eq!(events.read(&even).unwrap(), [event(0), event(2), event(4)]);
    let of_issue = EventQuery {
        issue: Some(IssueNumber(3)),
        ..all.clone()
    };
    assert_eq!(events.read(&of_issue).unwrap(), [event(3)]);
    let since = EventQuery {
        since: Some(event(4).at),
        ..all
    };
    assert_eq!(events.read(&since).unwrap(), [event(4), event(5)]);
}

#[test]
fn a_missing_store_has_no_events_and_reading_does_not_make_it() {
    let (_folder, events) = store();
    assert_eq!(events.read(&EventQuery::default()).unwrap(), []);
    assert!(!events.path.exists());
}

#[test]
fn a_damaged_store_loses_events_and_nothing_else_and_is_left_as_it_is() {
    let (_folder, events) = store();
    fs::create_dir_all(events.path.parent().unwrap()).unwrap();
    let damage = "not a database at all, but long enough to be looked at as one".repeat(20);
    fs::write(&events.path, &damage).unwrap();
    events.record(&event(1));
    let words = events.read(&EventQuery::default()).unwrap_err();
    assert!(words.contains("move it away"), "{words}");
    assert_eq!(fs::read_to_string(&events.path).unwrap(), damage);
    fs::remove_file(&events.path).unwrap();
    events.record(&event(2));
    assert_eq!(events.read(&EventQuery::default()).unwrap(), [event(2)]);
}

#[test]
fn a_locked_store_loses_the_event_and_works_again_later() {
    let (_folder, events) = store();
    events.record(&event(1));
    let mut other = Connection::open(&events.path).unwrap();
    let held = other
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .unwrap();
    events.record(&event(2));
    drop(held);
    events.record(&event(3));
    assert_eq!(
        events.read(&EventQuery::default()).unwrap(),
        [event(1), event(3)]
    );
}

#[test]
fn a_store_of_a_newer_program_is_not_touched() {
    let (_folder, events) = store();
    events.record(&event(1));
    let other = Connection::open(&events.path).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    let fresh = SqliteEvents::new(&events.path);
    fresh.record(&event(2));
    assert!(
        fresh
            .read(&EventQuery::default())
            .unwrap_err()
            .contains("newer")
    );
}

#[test]
fn several_processes_record_at_once_also_where_all_find_no_file() {
    // The start is where it goes wrong, if it does: the file is made and switched to its journal.
    for _ in 0..20 {
        let (_folder, events) = store();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for n in 0..8_u64 {
                let (path, start) = (&events.path, &start);
                scope.spawn(move || {
                    // Each with a connection of its own, as processes have.
                    let events = SqliteEvents::new(path);
                    start.wait();
                    (0..3).for_each(|m| events.record(&event(n * 10 + m)));
                });
            }
        });
        assert_eq!(events.read(&EventQuery::default()).unwrap().len(), 24);
    }
}

#[test]
fn a_switched_off_history_says_so() {
    NoEvents.record(&event(1));
    assert!(
        NoEvents
            .read(&EventQuery::default())
            .unwrap_err()
            .contains("event_db")
    );
}
