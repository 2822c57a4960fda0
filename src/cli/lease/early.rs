//! Claude Code's question before every edit, answered before anything else is set up: no parser, no runtime, no
//! log, no request and no other program, as long as the note says that the agent holds its issue. Whatever it
//! cannot answer from two small files goes the long way.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::checkout::Checkout;
use crate::adapters::clock::SystemClock;
use crate::ports::clock::Clock as _;

/// What Claude Code tells its hooks, as far as it matters here.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Event {
    /// `SessionStart`, `PreToolUse`, …
    #[serde(default)]
    pub hook_event_name: String,
    /// Where the session works.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
}

impl Event {
    /// Reads standard input; what is not an event counts as the start of a session.
    pub fn read() -> Self {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        let event: Option<Self> = read.ok().and_then(|_| serde_json::from_str(&text).ok());
        event.unwrap_or_default()
    }

    /// Is a tool about to be used?
    pub fn is_before_tool(&self) -> bool {
        self.hook_event_name == "PreToolUse"
    }
}

/// What came of it.
pub enum Early {
    /// These are other arguments.
    NotAsked,
    /// Go ahead, nothing to say.
    Allowed,
    /// The event has been read, and needs the long way.
    Ask {
        /// The event.
        event: Event,
        /// `--block`.
        block: bool,
    },
}

/// Answers `lease claude-hook [--block]`; `words` are the arguments after the program's name, `lease` put before
/// them where the name says so.
pub fn answer(words: &[OsString]) -> Early {
    let block = match words {
        [lease, hook] if lease == "lease" && hook == "claude-hook" => false,
        [lease, hook, block] if lease == "lease" && hook == "claude-hook" && block == "--block" => {
            true
        }
        _ => return Early::NotAsked,
    };
    let event = Event::read();
    if event.is_before_tool() && is_fine(event.cwd.as_deref()) {
        return Early::Allowed;
    }
    Early::Ask { event, block }
}

/// Is it certain, without asking anybody, that the edit may be made?
#[expect(
    clippy::disallowed_methods,
    reason = "reading every variable takes longer than the whole answer"
)]
fn is_fine(cwd: Option<&Path>) -> bool {
    let owner = std::env::var("AGENT_ID").unwrap_or_default();
    let owner = owner.trim();
    let around = cwd.map(Checkout::around);
    let around = around.unwrap_or_else(|| Checkout::around(&std::env::current_dir().ok()?));
    let Some(checkout) = around else {
        return true;
    };
    let Some(issue) = checkout.issue() else {
        return true;
    };
    !owner.is_empty()
        && checkout
            .note()
            .is_some_and(|note| note.holds(issue, owner, SystemClock.now(), 1))
}
