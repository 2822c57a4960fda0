//! Which file is the configuration. The only part that looks at the disk.

use std::path::{Path, PathBuf};

use super::expand::Environment;

/// There is no configuration file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no configuration file{}", tried_in_words(.tried))]
pub struct NotFound {
    /// Where it was looked for.
    pub tried: Vec<PathBuf>,
}

fn tried_in_words(tried: &[PathBuf]) -> String {
    let names: Vec<_> = tried
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" at {}", names.join(" or "))
    }
}

/// The file: `--config`, else `$GHSWARM_CONFIG`, else `~/.ghswarm.yaml`, else `~/.ghswarm.yml`. The
/// first one wins and nothing is merged. One that was named but is not there is an error: going on
/// with another file would do work that nobody asked for.
pub fn locate(flag: Option<&Path>, env: Environment<'_>) -> Result<PathBuf, NotFound> {
    let set = |name: &str| {
        env(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let named = flag.map(Path::to_owned).or_else(|| set("GHSWARM_CONFIG"));
    let tried = match (named, set("HOME")) {
        (Some(named), _) => vec![named],
        (None, Some(home)) => vec![home.join(".ghswarm.yaml"), home.join(".ghswarm.yml")],
        (None, None) => Vec::new(),
    };
    match tried.iter().find(|path| path.is_file()) {
        Some(found) => Ok(found.clone()),
        None => Err(NotFound { tried }),
    }
}
