//! The launchd agent, and the words for `launchctl`. Keys as in launchd.plist(5), read in November 2026.

use std::fmt::Write as _;
use std::path::Path;

use super::{Loop, MARK, words};

/// Its label and file.
const LABEL: &str = "ghswarm.loop";
/// Its name.
pub(super) const FILE: &str = "ghswarm.loop.plist";

/// launchd reads no file of variables: a shell does, and becomes the loop.
const SHELL: &str = r#"set -a; [ ! -f "$0" ] || . "$0"; set +a; exec "$@""#;

/// The agent's property list.
pub(super) fn render(wanted: &Loop) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK} -->\n<plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key>\n  <string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n"
    );
    let file = wanted.env_file.display().to_string();
    let command = ["/bin/sh", "-c", SHELL, &file].into_iter();
    for word in command.chain(wanted.words.iter().map(String::as_str)) {
        let _ = writeln!(text, "    <string>{}</string>", escaped(word));
    }
    text.push_str("  </array>\n  <key>EnvironmentVariables</key>\n  <dict>\n");
    for (name, value) in &wanted.env {
        let _ = writeln!(
            text,
            "    <key>{name}</key>\n    <string>{}</string>",
            escaped(value)
        );
    }
    let log = escaped(&wanted.log.display().to_string());
    let _ = write!(
        text,
        "  </dict>\n\
         \x20 <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <!-- Ended with an error, it is started again; ended by you, it stays so. -->\n\
         \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         \x20 <key>ThrottleInterval</key>\n  <integer>30</integer>\n\
         \x20 <!-- Only the loop is ended: agents run on under their supervisors. -->\n\
         \x20 <key>AbandonProcessGroup</key>\n  <true/>\n\
         \x20 <key>StandardOutPath</key>\n  <string>{log}</string>\n\
         \x20 <key>StandardErrorPath</key>\n  <string>{log}</string>\n</dict>\n</plist>\n"
    );
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Takes the agent up. One that is there already has to be taken out first.
pub(super) fn start(user: u32, file: &Path) -> Vec<String> {
    let mut bootstrap = words(&format!("launchctl bootstrap gui/{user}"));
    bootstrap.push(file.display().to_string());
    bootstrap
}

/// Ends it.
pub(super) fn stop(user: u32) -> Vec<String> {
    words(&format!("launchctl bootout gui/{user}/{LABEL}"))
}

/// Asks for its state.
pub(super) fn show(user: u32) -> Vec<String> {
    words(&format!("launchctl print gui/{user}/{LABEL}"))
}

/// Does it run, and launchd's word for that.
pub(super) fn state(answer: &Result<String, String>) -> (bool, String) {
    match answer {
        Ok(text) => {
            let state = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("state = "))
                .unwrap_or("unknown");
            (state == "running", state.to_owned())
        }
        Err(_) => (false, "not loaded".to_owned()),
    }
}
