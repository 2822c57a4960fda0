//! Where a command runs that does not run on the host: a container, as the configuration describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::run::Clocks;

/// The worktree's place in the container.
pub const WORKSPACE: &str = "/workspace";

/// Where an agent in a container finds its prompt.
pub const PROMPT_IN_BOX: &str = "/ghswarm-prompt.md";

/// One `sandbox` of the configuration with `driver: docker`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sandbox {
    /// Where it stands in the configuration, for messages: `verify.sandbox`, `verify[api].sandbox`.
    pub config: String,
    /// The image.
    pub image: String,
    /// When the image is pulled.
    pub pull: Pull,
    /// Its network.
    pub network: Network,
    /// Who the command is.
    pub user: User,
    /// Variables to set. May hold secrets.
    pub env: BTreeMap<String, String>,
    /// Names of variables that are handed in from the host.
    pub env_passthrough: Vec<String>,
    /// Further mounts, `source:target[:ro]`.
    pub volumes: Vec<String>,
    /// Directories of the worktree that only containers of the issue see.
    pub isolate_dirs: Vec<PathBuf>,
    /// What it may use.
    pub caps: Caps,
}

impl Sandbox {
    /// What an agent in it reaches, for people.
    pub fn agent_reaches(&self) -> String {
        let network = match self.network {
            Network::Default => "the network",
            Network::None => "no network",
        };
        let given = |what: &str, names: &[String]| match names {
            [] => String::new(),
            names => format!(", {what} {}", names.join(" ")),
        };
        format!(
            "in containers of `{}`: they reach a clone of the worktree, {network}{}{}",
            self.image,
            given("variables", &self.env_passthrough),
            given("mounts", &self.volumes),
        )
    }
}

/// What a container may use; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Caps {
    /// Bytes of memory, swap included.
    pub memory: Option<u64>,
    /// Billionths of a processor.
    pub nano_cpus: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u32>,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pull {
    /// When it is not there.
    Missing,
    /// Not by us.
    Never,
    /// Before each step; the one that is there serves if that fails.
    Always,
}

/// The container's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// The engine's default.
    Default,
    /// Only its own loopback.
    None,
}

/// Who the command is in the container.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum User {
    /// Whoever runs ghswarm, so that files in the worktree stay theirs.
    Auto,
    /// The image's own.
    OfImage,
    /// These numbers.
    Fixed {
        /// User.
        uid: u32,
        /// Group.
        gid: u32,
    },
}

/// Where the verify steps of a path run, and for how long: one entry of `verify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlace {
    /// The path that steps name; `None`: it holds for all steps.
    pub path: Option<String>,
    /// Where it stands in the configuration, for messages.
    pub config: String,
    /// A step's clocks.
    pub clocks: Clocks,
    /// `None`: on the host.
    pub sandbox: Option<Sandbox>,
}

/// The place of steps that name this path; of a step without one, and of the set-up, it is `.`.
pub fn place_of<'a>(places: &'a [StepPlace], path: Option<&str>) -> Option<&'a StepPlace> {
    let path = path.unwrap_or(".");
    let fits = |place: &&StepPlace| place.path.as_deref().is_none_or(|own| own == path);
    places.iter().find(fits)
}

/// Whose a container or volume is: what its labels say. Nobody else's is ever touched.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SandboxOwner {
    /// The home's random name.
    pub instance: String,
    /// The repository's id.
    pub repository: u64,
}

impl fmt::Display for SandboxOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.instance, self.repository)
    }
}

/// A size as people write it in the configuration.
pub fn spoken_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    UNITS
        .iter()
        .find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size))
        .map_or_else(
            || format!("{bytes} bytes"),
            |(size, unit)| format!("{}{unit}", bytes / size),
        )
}

/// `512m`, `2g`, `1024k` or a number of bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let lower = lower.strip_suffix('b').unwrap_or(&lower);
    let (number, factor) = match lower.char_indices().last()? {
        (at, 'k') => (&lower[..at], 1 << 10),
        (at, 'm') => (&lower[..at], 1 << 20),
        (at, 'g') => (&lower[..at], 1 << 30),
        _ => (lower, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_as_people_do() {
        for (text, bytes) in [
            ("2g", Some(2 << 30)),
            ("512m", Some(512 << 20)),
            ("512MB", Some(512 << 20)),
            ("7", Some(7)),
            ("1k", Some(1024)),
            ("", None),
            ("g", None),
            ("-1g", None),
            ("99999999999g", None),
        ] {
            assert_eq!(parse_bytes(text), bytes, "{text}");
        }
        assert_eq!(spoken_bytes(2 << 30), "2g");
        assert_eq!(spoken_bytes(1536 << 20), "1536m");
        assert_eq!(spoken_bytes(5), "5 bytes");
    }
}
