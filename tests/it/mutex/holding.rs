//! Who holds the lock, and until when. `flock` is util-linux's, so its tests are Linux's.

use super::{Machine, Orphan, Running, ended, eventually};
use rustix::process::Signal;

#[test]
fn a_killed_holder_frees_the_waiter_and_leaves_its_command() {
    let machine = Machine::new();
    let mut holder = machine.starts("a", "echo $$; exec sleep 1000 >&- 2>&-");
    let command = Orphan::named(&holder.line());
    let mut waiter = machine.starts("a", "echo in");
    assert!(waiter.error_line().starts_with("waiting for lock a at "));
    waiter.is_blocked();
    holder.signal(Signal::KILL);
    assert_eq!(waiter.line(), "in");
    assert_eq!(waiter.ends().status, Some(0));
    assert_eq!(holder.ends().status, None);
    assert!(command.lives());
}

#[test]
fn a_grandchild_that_lives_on_does_not_hold_the_lock() {
    let machine = Machine::new();
    let mut holder = machine.starts("a", "sleep 1000 >&- 2>&- & echo $!; read x");
    let grandchild = Orphan::named(&holder.line());
    assert!(machine.is_locked("a"));
    assert_eq!(holder.ends().status, Some(1), "that of `read` at the end");
    assert!(!machine.is_locked("a"));
    assert!(grandchild.lives());
}

#[test]
fn two_hundred_contenders_go_one_by_one() {
    let machine = Machine::new();
    let critical = "mkdir inside || echo overlap >>overlaps
        count=$(cat counter 2>/dev/null || echo 0)
        echo $((count + 1)) >counter
        rmdir inside";
    let contenders: Vec<_> = (0..200)
        .map(|_| {
            machine
                .mutex(&["a", "--script", critical])
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut contender in contenders {
        assert!(contender.wait().unwrap().success());
    }
    assert_eq!(machine.read("overlaps"), "");
    assert_eq!(machine.read("counter"), "200\n");
}

#[cfg(target_os = "linux")]
#[test]
fn flock_on_the_same_file_is_waited_for() {
    let machine = Machine::new();
    let file = machine.lock_file("a");
    let mut flock = machine.program("flock");
    flock.arg("-o").arg("-x").arg(file);
    let mut holder = Running::start(flock.args(["sh", "-c", "echo in; read x; echo out >>order"]));
    assert_eq!(holder.line(), "in");
    let waiter = machine.starts("a", "echo ours >>order");
    waiter.is_blocked();
    assert_eq!(holder.ends().status, Some(0));
    assert_eq!(waiter.ends().status, Some(0));
    assert_eq!(machine.read("order"), "out\nours\n");
}

#[cfg(target_os = "linux")]
#[test]
fn flock_on_the_same_file_waits() {
    let machine = Machine::new();
    let mut holder = machine.starts("a", "echo in; read x; echo out >>order");
    assert_eq!(holder.line(), "in");
    let mut flock = machine.program("flock");
    flock.arg("-o").arg("-x").arg(machine.lock_file("a"));
    let waiter = Running::start(flock.args(["sh", "-c", "echo theirs >>order"]));
    waiter.is_blocked();
    assert_eq!(holder.ends().status, Some(0));
    assert_eq!(waiter.ends().status, Some(0));
    assert_eq!(machine.read("order"), "out\ntheirs\n");
}

#[test]
fn other_names_and_other_folders_are_other_locks() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("more")).unwrap();
    let mut holder = machine.starts("a", "echo in; read x");
    holder.line();
    let other = ended(&mut machine.mutex(&["b", "--", "echo", "b"]));
    assert_eq!((other.status, other.out.as_str()), (Some(0), "b\n"));
    let more = machine.path("more").display().to_string();
    let other = ended(&mut machine.mutex(&["a", "--lock-dir", &more, "--", "echo", "more"]));
    assert_eq!((other.status, other.out.as_str()), (Some(0), "more\n"));
    holder.ends();
}

#[test]
fn the_lock_file_stays() {
    let machine = Machine::new();
    ended(&mut machine.mutex(&["a", "--", "true"]));
    assert!(machine.lock_file("a").is_file());
}

#[test]
fn a_waiter_that_is_told_to_end_ends_without_the_lock() {
    let machine = Machine::new();
    let mut holder = machine.starts("a", "echo in; read x");
    holder.line();
    let waiter = machine.starts("a", "echo in >>order");
    waiter.is_blocked();
    waiter.signal(Signal::TERM);
    let waiter = waiter.ends();
    assert_eq!(waiter.status, None, "ended by the signal");
    assert!(!waiter.errors.contains("released"), "{}", waiter.errors);
    holder.ends();
    assert_eq!(machine.read("order"), "");
}

#[test]
fn a_lock_file_that_is_unlinked_under_a_waiter_locks_nobody_out_by_itself() {
    let machine = Machine::new();
    let mut first = machine.starts("a", "echo in; read x");
    first.line();
    let mut second = machine.starts("a", "echo in; read x");
    second.is_blocked();
    std::fs::remove_file(machine.lock_file("a")).unwrap();
    assert_eq!(first.ends().status, Some(1));
    assert_eq!(second.line(), "in");
    eventually("the new file is the lock", || machine.is_locked("a"));
    second.ends();
}
