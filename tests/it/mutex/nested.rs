//! Locks inside locks, and the script that nested calls go through.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use super::{Ended, Machine, ended, eventually};

#[test]
fn other_names_nest_in_a_shell_loop_through_the_variables() {
    let machine = Machine::new();
    let script = "printf '%s\\n' one two three | while IFS= read -r key; do
            KEY=$key sh \"$LOCAL_MUTEX_CLI\" \"item-$key\" 'echo \"$KEY in $LOCAL_MUTEX_LOCK_DIR\"; exit 3'
            echo $?
        done";
    let ended = ended(&mut machine.mutex(&["sweep", "--script", script]));
    let locks = machine.path("locks").display().to_string();
    let expected = ["one", "two", "three"].map(|key| format!("{key} in {locks}\n3\n"));
    assert_eq!(ended.out, expected.concat(), "{}", ended.errors);
    for name in ["sweep", "item-one", "item-two", "item-three"] {
        assert!(machine.lock_file(name).is_file(), "{name}");
    }
}

#[test]
fn a_nested_call_inherits_the_folder_that_was_given_and_may_name_another() {
    let machine = Machine::new();
    fs::create_dir(machine.path("more")).unwrap();
    fs::create_dir(machine.path("third")).unwrap();
    let more = machine.path("more").display().to_string();
    let script = "sh \"$LOCAL_MUTEX_CLI\" b 'echo $LOCAL_MUTEX_LOCK_DIR'
        sh \"$LOCAL_MUTEX_CLI\" b 'echo $LOCAL_MUTEX_LOCK_DIR' \"$PWD/third\"
        sh \"$LOCAL_MUTEX_CLI\" b 'echo $LOCAL_MUTEX_LOCK_DIR' ''";
    let ended = ended(&mut machine.mutex(&["a", "--lock-dir", &more, "--script", script]));
    let third = machine.path("third").display().to_string();
    assert_eq!(
        ended.out,
        format!("{more}\n{third}\n{more}\n"),
        "{}",
        ended.errors
    );
}

#[cfg(target_os = "linux")]
#[test]
fn the_same_name_inside_itself_is_refused_at_any_depth() {
    let machine = Machine::new();
    let script = "sh \"$LOCAL_MUTEX_CLI\" b 'sh \"$LOCAL_MUTEX_CLI\" a \"echo in\"; echo $?'";
    let ended = ended(&mut machine.mutex(&["a", "--script", script]));
    assert_eq!(ended.out, "2\n");
    assert!(
        ended.errors.contains("holds the lock already"),
        "{}",
        ended.errors
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_holder_left_behind_waits_like_anybody() {
    let machine = Machine::new();
    let left = "sh -c 'until [ -e go ]; do sleep 0.01; done
        echo $$ >new; mv new pid
        sh \"$LOCAL_MUTEX_CLI\" a \"echo in >done\"' >&- 2>&- &";
    let outer = ended(&mut machine.mutex(&["a", "--script", left]));
    assert_eq!(outer.status, Some(0));
    let lock = File::open(machine.lock_file("a")).unwrap();
    lock.lock().unwrap();
    fs::write(machine.path("go"), "").unwrap();
    eventually("somebody waits", || {
        let table = fs::read_to_string("/proc/locks").unwrap();
        let inode = std::os::unix::fs::MetadataExt::ino(&lock.metadata().unwrap());
        let place = format!(":{inode} ");
        table
            .lines()
            .any(|row| row.contains("->") && row.contains(&place))
    });
    assert!(!machine.path("done").exists());
    lock.unlock().unwrap();
    eventually("it got the lock", || machine.read("done") == "in\n");
}

#[test]
fn the_script_refuses_what_the_published_one_refuses() {
    let machine = Machine::new();
    let script = "sh \"$LOCAL_MUTEX_CLI\" b; echo $?; sh \"$LOCAL_MUTEX_CLI\" b ' '; echo $?
        sh \"$LOCAL_MUTEX_CLI\" '' true; echo $?; sh \"$LOCAL_MUTEX_CLI\" b true locks; echo $?
        sh \"$LOCAL_MUTEX_CLI\" b true /tmp more; echo $?
        sh \"$LOCAL_MUTEX_CLI\" --help 'echo in'; echo $?";
    let ended = ended(&mut machine.mutex(&["a", "--script", script]));
    assert_eq!(ended.out, "2\n2\n2\n2\n2\nin\n0\n", "{}", ended.errors);
}

/// Says where the script is, and that it works.
const PROBE: &str = "echo \"$LOCAL_MUTEX_CLI\"; sh \"$LOCAL_MUTEX_CLI\" b 'echo nested'";

#[track_caller]
fn place(ended: &Ended) -> std::path::PathBuf {
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.get(1), Some(&"nested"), "{ended:?}");
    lines[0].into()
}

#[test]
fn the_script_stands_in_the_first_safe_place() {
    let machine = Machine::new();
    let probe = || machine.mutex(&["a", "--script", PROBE]);
    let whole = |name: &str| machine.path(name).canonicalize().unwrap();
    let in_folder = |command: &mut Command| place(&ended(command)).parent().unwrap().to_owned();
    assert_eq!(in_folder(&mut probe()), whole("home/.cache/ghswarm"));
    let swarm = machine.path("swarm");
    let named = in_folder(probe().env("GHSWARM_HOME", &swarm));
    assert_eq!(named, whole("swarm/mutex"));
    let user = rustix::process::geteuid().as_raw();
    let temporary = format!("ghswarm-{user}");
    let homeless = in_folder(probe().env_remove("HOME"));
    assert_eq!(homeless, whole(&temporary));
    // Like one that is read-only, for every user.
    let no_home = in_folder(probe().env("HOME", "/dev/null"));
    assert_eq!(no_home, whole(&temporary));
}

#[test]
fn a_place_that_another_user_could_write_to_is_passed_over() {
    let machine = Machine::new();
    let user = rustix::process::geteuid().as_raw();
    let planted = machine.path(&format!("ghswarm-{user}"));
    fs::set_permissions(machine.path("home"), Permissions::from_mode(0o777)).unwrap();
    let check = || {
        let script = place(&ended(&mut machine.mutex(&["a", "--script", PROBE])));
        assert!(!script.starts_with(machine.path("home").canonicalize().unwrap()));
        assert!(!script.starts_with(&planted), "{script:?}");
        assert!(!script.exists(), "a new folder ends with its command");
        assert!(!script.parent().unwrap().exists());
    };
    fs::create_dir(&planted).unwrap();
    fs::set_permissions(&planted, Permissions::from_mode(0o777)).unwrap();
    check();
    fs::remove_dir(&planted).unwrap();
    symlink(machine.path("locks"), &planted).unwrap();
    check();
}
