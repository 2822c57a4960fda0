//! The systemd user unit, and the words for `systemctl`. Quoting as in systemd.service(5) and systemd.exec(5),
//! read in November 2026.

use std::fmt::Write as _;

use super::{Loop, MARK, words};
use crate::cli::error::{CommandError, Kind};

/// Its name.
pub(super) const UNIT: &str = "ghswarm.service";

/// A wrong usage or configuration is as wrong in half a minute: it is not tried again (`exit_code` of
/// `CommandError`). Being stopped by a signal is no failure.
const RULES: &str = "\
Restart=on-failure
RestartSec=30
RestartPreventExitStatus=2 3
SuccessExitStatus=130 143
";

/// The unit's text.
pub(super) fn render(wanted: &Loop) -> Result<String, CommandError> {
    // Of the program alone systemd expands no variable, so that there `$$` would be two.
    if let Some(program) = wanted.words.first().filter(|program| program.contains('$')) {
        let what = format!("`{program}` has a `$` in its path, which a unit cannot hold");
        return Err(CommandError::new(Kind::Outside, what).hint("install ghswarm elsewhere"));
    }
    let mut text = format!(
        "# {MARK}\n[Unit]\nDescription=ghswarm carries GitHub issues from spec to merged\n\n[Service]\n"
    );
    for (name, value) in &wanted.env {
        let _ = writeln!(text, "Environment={}", quoted(&format!("{name}={value}")));
    }
    let file = wanted.env_file.display().to_string();
    let _ = writeln!(
        text,
        "# For GITHUB_TOKEN, if nothing else gives one: mode 600."
    );
    let _ = writeln!(text, "EnvironmentFile=-{}", file.replace('%', "%%"));
    let command: Vec<String> = wanted
        .words
        .iter()
        .map(|word| quoted(&word.replace('$', "$$")))
        .collect();
    let _ = writeln!(text, "ExecStart={}", command.join(" "));
    text.push_str(RULES);
    text.push_str(
        "# Only the loop is ended: agents run on under their supervisors, and the next loop uses their results.\n\
         KillMode=process\n\n[Install]\nWantedBy=default.target\n",
    );
    Ok(text)
}

/// One word. `%` begins a specifier even between quotes.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", word.replace('%', "%%"))
}

/// Reads the units anew.
pub(super) fn reload() -> Vec<String> {
    words("systemctl --user daemon-reload")
}

/// Takes the unit up. One that runs already is started anew, with what stands in the file now.
pub(super) fn start(replaced: bool) -> Vec<Vec<String>> {
    let mut all = vec![
        reload(),
        words("systemctl --user enable --now ghswarm.service"),
    ];
    if replaced {
        all.push(words("systemctl --user restart ghswarm.service"));
    }
    all
}

/// Ends it.
pub(super) fn stop() -> Vec<String> {
    words("systemctl --user disable --now ghswarm.service")
}

/// Asks for its state.
pub(super) fn show() -> Vec<String> {
    words("systemctl --user show --property=ActiveState,SubState,Result ghswarm.service")
}

/// Does it run, and systemd's words for that.
pub(super) fn state(answer: &Result<String, String>) -> (bool, String) {
    let text = match answer {
        Ok(text) => text,
        Err(error) => return (false, error.clone()),
    };
    let of = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.trim().to_owned())
            .next()
            .unwrap_or_default()
    };
    let (active, sub, result) = (of("ActiveState"), of("SubState"), of("Result"));
    let mut said = format!("{active}, {sub}");
    if !matches!(result.as_str(), "success" | "") {
        let _ = write!(said, ", {result}");
    }
    (active == "active", said)
}
