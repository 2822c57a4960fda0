//! What the clone's configuration says about its remote, sorted by who may have written it. Pure.
//!
//! The repository's own configuration may be an agent's work, so nothing of it is obeyed where a
//! token is around. Some of it is still read: the remote's address (and compared with the one that
//! was known first), and values that can do no harm.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Who may have written a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    /// The user's or the system's configuration.
    User,
    /// The repository's: also an agent.
    Clone,
}

#[derive(Debug)]
struct Line {
    author: Author,
    file: Option<PathBuf>,
    key: String,
    value: String,
}

/// `git config --list --show-scope --show-origin -z`, read.
#[derive(Debug, Default)]
pub(super) struct Listing(Vec<Line>);

/// Where the remote is; `push` is empty where pushes go to the same address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Addresses {
    pub(super) fetch: String,
    pub(super) push: Vec<String>,
}

/// Sections of the repository's configuration that git would obey on the network, and ghswarm does not.
const NOT_OBEYED: [&str; 8] = [
    "http.",
    "credential.",
    "core.sshcommand",
    "core.gitproxy",
    "core.askpass",
    "ssh.",
    "protocol.",
    "lfs.url",
];

impl Listing {
    pub(super) fn parse(fields: &[String]) -> Self {
        let lines = fields.chunks_exact(3).filter_map(|part| {
            let [scope, origin, pair] = part else {
                return None;
            };
            let author = match scope.as_str() {
                "local" | "worktree" => Author::Clone,
                "global" | "system" => Author::User,
                // What we ourselves told this git.
                _ => return None,
            };
            let (key, value) = pair.split_once('\n').unwrap_or((pair, ""));
            Some(Line {
                author,
                file: origin.strip_prefix("file:").map(PathBuf::from),
                key: key.to_owned(),
                value: value.to_owned(),
            })
        });
        Self(lines.collect())
    }

    /// All values of a key, whoever wrote them; an empty one takes back those before it, as in git.
    fn values(&self, key: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for line in self.0.iter().filter(|line| line.key == key) {
            match line.value.as_str() {
                "" => values.clear(),
                value => values.push(value),
            }
        }
        values
    }

    fn lines_of_clone(&self) -> impl Iterator<Item = &Line> {
        self.0.iter().filter(|line| line.author == Author::Clone)
    }

    fn last_of_clone(&self, key: &str) -> Option<&str> {
        let found = self.lines_of_clone().filter(|line| line.key == key).last();
        found.map(|line| line.value.as_str())
    }

    /// Where git, run in the clone, would fetch from and push to; `None`: there is no such remote.
    ///
    /// Rewrites (`url.*.insteadOf`) of the repository are part of it, since they decide where the
    /// clone points. Those of the user come into it later, by git itself.
    pub(super) fn addresses(&self, remote: &str, clone: &Path) -> Option<Addresses> {
        let urls = self.values(&format!("remote.{remote}.url"));
        let fetch = self.rewritten(urls.first()?, ".insteadof");
        let fetch = fetch.unwrap_or_else(|| urls[0].to_owned());
        let own = self.values(&format!("remote.{remote}.pushurl"));
        let push: Vec<String> = if own.is_empty() {
            let moved = |url: &&str| {
                let pushed = self.rewritten(url, ".pushinsteadof");
                pushed.or_else(|| self.rewritten(url, ".insteadof"))
            };
            urls.iter()
                .map(|url| moved(url).unwrap_or_else(|| (*url).to_owned()))
                .collect()
        } else {
            let moved = |url: &&str| self.rewritten(url, ".insteadof");
            own.iter()
                .map(|url| moved(url).unwrap_or_else(|| (*url).to_owned()))
                .collect()
        };
        // The user's own `pushInsteadOf` works only where no push address is set.
        let same = own.is_empty() && push == [fetch.clone()];
        Some(Addresses {
            fetch: absolute(&fetch, clone),
            push: if same {
                Vec::new()
            } else {
                push.iter().map(|url| absolute(url, clone)).collect()
            },
        })
    }

    /// By the longest prefix that the repository's configuration names (`git-config(1)`).
    fn rewritten(&self, url: &str, rule: &str) -> Option<String> {
        let rules = self.lines_of_clone().filter_map(|line| {
            let base = line.key.strip_prefix("url.")?.strip_suffix(rule)?;
            let rest = url.strip_prefix(line.value.as_str())?;
            Some((line.value.len(), format!("{base}{rest}")))
        });
        rules.max_by_key(|(len, _)| *len).map(|(_, url)| url)
    }

    /// Keys of the repository that would have told git how to get to the remote.
    pub(super) fn not_obeyed(&self) -> BTreeSet<&str> {
        let keys = self.lines_of_clone().map(|line| line.key.as_str());
        keys.filter(|key| NOT_OBEYED.iter().any(|start| key.starts_with(start)))
            .collect()
    }

    /// Does the user's configuration have parts that hold for some repositories only?
    pub(super) fn is_conditional(&self) -> bool {
        self.0
            .iter()
            .any(|line| line.author == Author::User && line.key.starts_with("includeif."))
    }

    /// The files of the user's and the system's configuration that are in force.
    pub(super) fn files_of_user(&self) -> Vec<&Path> {
        let mut files: Vec<&Path> = Vec::new();
        for line in self.0.iter().filter(|line| line.author == Author::User) {
            if let Some(file) = line.file.as_deref().filter(|file| !files.contains(file)) {
                files.push(file);
            }
        }
        files
    }

    /// `objectFormat`, if it is not git's default. A wrong one makes the clone itself unreadable.
    pub(super) fn is_sha256(&self) -> bool {
        self.last_of_clone("extensions.objectformat") == Some("sha256")
    }

    /// Where LFS keeps its objects, if not in the usual place. They are named by their content.
    pub(super) fn lfs_storage(&self, common: &Path) -> PathBuf {
        common.join(self.last_of_clone("lfs.storage").unwrap_or("lfs"))
    }

    /// The filter of a partial clone: what is left out is then fetched from the known remote.
    pub(super) fn partial_filter(&self, remote: &str) -> Option<&str> {
        self.last_of_clone(&format!("remote.{remote}.promisor"))
            .filter(|value| *value == "true")?;
        let filter = self.last_of_clone(&format!("remote.{remote}.partialclonefilter"));
        let plain = |c: char| c.is_ascii_alphanumeric() || ":=+,%.-".contains(c);
        Some(filter.unwrap_or("blob:none")).filter(|filter| filter.chars().all(plain))
    }
}

impl Addresses {
    /// Without logins: what has to stay the same. A password that is changed in the address moves
    /// nothing, and is not written down.
    pub(super) fn places(&self) -> Self {
        Self {
            fetch: place(&self.fetch),
            push: self.push.iter().map(|url| place(url)).collect(),
        }
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        let fetch = shown(&self.fetch);
        if self.push.is_empty() {
            return format!("`{fetch}`");
        }
        let push: Vec<String> = self.push.iter().map(|url| shown(url)).collect();
        format!("`{fetch}` (pushes: `{}`)", push.join("`, `"))
    }
}

/// A path is relative to the clone, and git will run elsewhere. As git tells paths from addresses.
fn absolute(url: &str, clone: &Path) -> String {
    let is_path = match (url.find(':'), url.find('/')) {
        (None, _) => true,
        (Some(colon), Some(slash)) => slash < colon,
        (Some(_), None) => false,
    };
    if is_path {
        clone.join(url).to_string_lossy().into_owned()
    } else {
        url.to_owned()
    }
}

fn split_login(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let (login, _) = host.rsplit_once('@')?;
    Some((scheme, login, &rest[login.len() + 1..]))
}

/// The address without its login. One that is no plain login stays: what follows the `@` need not
/// be the host then (`https://evil.example#@github.com/`).
fn place(url: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~%:+=!$".contains(c);
    match split_login(url) {
        Some((scheme, login, rest)) if login.chars().all(plain) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

/// The address with its login made unreadable.
fn shown(url: &str) -> String {
    match split_login(url) {
        Some((scheme, _, rest)) => format!("{scheme}://***@{rest}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests;
