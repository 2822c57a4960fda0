//! What goes through: exit statuses, signals, standard streams, lines about the lock.

use super::{Machine, Running, ended, eventually};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn the_exit_status_of_the_command_is_ours() {
    let machine = Machine::new();
    for status in [0, 1, 7, 255] {
        let exit = format!("exit {status}");
        let direct = ended(&mut machine.mutex(&["a", "--", "sh", "-c", &exit]));
        assert_eq!(direct.status, Some(status));
        let script = ended(&mut machine.mutex(&["a", "--script", &exit]));
        assert_eq!(script.status, Some(status));
    }
}

#[test]
fn a_command_that_a_signal_killed_gives_128_and_the_signal() {
    let machine = Machine::new();
    for (signal, status) in [("KILL", 137), ("TERM", 143), ("SEGV", 139), ("INT", 130)] {
        let kill = format!("kill -{signal} $$");
        let killed = ended(&mut machine.mutex(&["a", "--script", &kill]));
        assert_eq!(killed.status, Some(status), "{signal}");
        assert!(
            killed.errors.contains("released a at "),
            "{}",
            killed.errors
        );
    }
}

#[test]
fn a_command_that_is_not_there_or_does_not_start_is_told_and_the_lock_is_free() {
    let machine = Machine::new();
    let missing = ended(&mut machine.mutex(&["a", "--", "./no-such"]));
    assert_eq!(missing.status, Some(127));
    assert!(
        missing.errors.contains("no command `./no-such`"),
        "{}",
        missing.errors
    );
    let file = machine.path("text");
    std::fs::write(&file, "not a program").unwrap();
    let closed = ended(&mut machine.mutex(&["a", "--", "./text"]));
    assert_eq!(closed.status, Some(126));
    assert!(
        closed.errors.contains("start the command `./text`"),
        "{}",
        closed.errors
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let odd = ended(&mut machine.mutex(&["a", "--", "./text"]));
    assert_eq!(odd.status, Some(126));
    assert!(odd.errors.contains("released a at "), "{}", odd.errors);
    assert!(!machine.is_locked("a"));
}

#[test]
fn signals_are_handed_on_and_the_end_is_waited_for() {
    let machine = Machine::new();
    let script = "for s in INT TERM HUP QUIT; do
            trap \"echo got $s; kill \\$!; exit 9\" $s
        done
        sleep 1000 >&- 2>&- & echo in; wait";
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
    ] {
        let mut holder = machine.starts("a", script);
        assert_eq!(holder.line(), "in");
        holder.signal(signal);
        assert_eq!(holder.line(), format!("got {name}"));
        let holder = holder.ends();
        assert_eq!(holder.status, Some(9), "{name}");
        assert!(
            holder.errors.contains("released a at "),
            "{}",
            holder.errors
        );
    }
}

#[test]
fn a_command_that_dies_of_the_signal_decides_the_status() {
    let machine = Machine::new();
    let mut holder = machine.starts("a", "echo in; exec sleep 1000");
    holder.line();
    holder.signal(Signal::TERM);
    assert_eq!(holder.ends().status, Some(143));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let machine = Machine::new();
    let mut shell = machine.program("sh");
    shell.args([
        "-c",
        "trap '' HUP; exec \"$0\" mutex a --script 'kill -HUP $PPID; kill -HUP $$; echo alive'",
    ]);
    let ended = ended(shell.arg(env!("CARGO_BIN_EXE_ghswarm")));
    assert_eq!((ended.status, ended.out.as_str()), (Some(0), "alive\n"));
}

/// So often is Ctrl-C typed.
const KEYS: usize = 20;

/// `script` gives a terminal, whose Ctrl-C goes to the whole group in the foreground.
#[cfg(target_os = "linux")]
#[test]
fn a_ctrl_c_of_the_terminal_reaches_the_command_once() {
    let machine = Machine::new();
    std::fs::write(
        machine.path("command"),
        "trap 'echo INT >>got' INT
        trap 'echo TERM >>got; kill $!; exit 5' TERM
        (trap '' INT; exec sleep 1000) >/dev/null 2>&1 &
        echo $PPID >new; mv new ready
        while :; do wait; done",
    )
    .unwrap();
    let mut terminal = machine.program("script");
    let command = format!(
        "exec {} mutex a -- sh ./command",
        env!("CARGO_BIN_EXE_ghswarm")
    );
    let mut terminal = Running::start(terminal.args(["-qec", &command, "/dev/null"]));
    eventually("the command runs", || machine.path("ready").exists());
    let ours: i32 = machine.read("ready").trim().parse().unwrap();
    // Two signals at once may become one, so one Ctrl-C alone would prove little.
    for count in 1..=KEYS {
        let input = terminal.child.stdin.as_mut().unwrap();
        input.write_all(b"\x03").unwrap();
        eventually("the command has the signal", || {
            machine.read("got").lines().count() >= count
        });
    }
    // Ours is asked about signals in a fixed order: when this one has come through, the other has.
    kill_process(Pid::from_raw(ours).unwrap(), Signal::TERM).unwrap();
    eventually("the command has the other signal", || {
        machine.read("got").contains("TERM")
    });
    assert_eq!(machine.read("got"), "INT\n".repeat(KEYS) + "TERM\n");
    assert_eq!(terminal.ends().status, Some(5));
}

#[test]
fn standard_input_and_arguments_go_through_untouched() {
    let machine = Machine::new();
    let mut command = machine.mutex(&["a", "--", "sh", "-c", "cat; printf '%s|' \"$@\"", "sh"]);
    command.args(["--help", "", "a b", "--"]);
    let mut running = Running::start(&mut command);
    running
        .child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"line\n")
        .unwrap();
    let ended = running.ends();
    assert_eq!(ended.out, "line\n--help||a b|--|");
}

#[test]
fn names_of_any_bytes_and_length_are_taken() {
    let machine = Machine::new();
    let long = "x".repeat(100_000);
    let names = [
        OsStr::from_bytes(b"\xff\xfe"),
        OsStr::new("größer ☃"),
        OsStr::new("--help"),
        OsStr::new("a=b"),
        OsStr::new(&long),
    ];
    for name in names {
        let mut option = OsStr::new("--name=").to_owned();
        option.push(name);
        let ended = ended(machine.mutex(&[]).arg(option).args(["--script", "echo in"]));
        assert_eq!(
            (ended.status, ended.out.as_str()),
            (Some(0), "in\n"),
            "{name:?}"
        );
        let file = ghswarm::model::mutex::MutexName::parse(name.as_bytes()).unwrap();
        assert!(machine.path("locks").join(file.file_name()).is_file());
    }
}

#[test]
fn lines_about_the_lock_are_notices_in_github_actions_only() {
    let machine = Machine::new();
    let mut command = machine.mutex(&["50%", "--", "true"]);
    let time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ";
    let matches = |text: &str, waiting: &str, released: &str| {
        let whole = format!(r"\A{waiting} at {time}\n{released} at {time}\n\z");
        assert!(regex::Regex::new(&whole).unwrap().is_match(text), "{text}");
    };
    let plain = ended(&mut command);
    matches(&plain.errors, "waiting for lock 50%", "released 50%");
    let notices = ended(command.env("GITHUB_ACTIONS", "true"));
    let notice = "::notice::local-mutex: ";
    matches(
        &notices.errors,
        &format!("{notice}waiting for lock 50%25"),
        &format!("{notice}released 50%25"),
    );
}
