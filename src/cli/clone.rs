//! The user's clone, looked at before any work starts: is it there, is it git's, is it the right one?

use std::path::Path;

use super::error::{CommandError, Kind};
use crate::config::RepoConfig;
use crate::model::ids::RepoSlug;

/// Where the clone's `origin` points.
pub fn origin(config: &RepoConfig) -> Result<String, CommandError> {
    let path = config.path.display();
    let alias = &config.alias;
    let wrong = |what: String| {
        CommandError::new(Kind::Config, what).hint(format!("mend `repositories.{alias}.path`"))
    };
    if !config.path.exists() {
        return Err(wrong(format!(
            "the clone `{path}` of repository `{alias}` is not there"
        ))
        .hint(format!(
            "or make it: git clone {} {path}",
            clone_url(config)
        )));
    }
    let repository = git2::Repository::open(&config.path).map_err(|error| {
        if error.code() == git2::ErrorCode::NotFound {
            return wrong(format!(
                "`{path}` (repository `{alias}`) is not the top of a git repository"
            ))
            .hint(format!(
                "or, if its `.git` is gone, put that back, or move the folder away and clone anew: git clone {} {path}",
                clone_url(config)
            ));
        }
        let words = error.message().to_owned();
        CommandError::outside(format!("git cannot open the clone `{path}`"), words)
    })?;
    let remote = repository.find_remote("origin").map_err(|_| {
        wrong(format!("the clone `{path}` has no remote `origin`")).hint(format!(
            "or add it: git remote add origin {}",
            clone_url(config)
        ))
    })?;
    let url = String::from_utf8_lossy(remote.url_bytes()).into_owned();
    Ok(url)
}

/// Is it a clone of this repository, under the name in the configuration or the present one?
pub fn belongs(config: &RepoConfig, url: &str, present: &RepoSlug) -> Result<(), CommandError> {
    let named = slug_of(url);
    let is = |slug: &RepoSlug| {
        named
            .as_ref()
            .is_some_and(|named| named.eq_ignore_ascii_case(&slug.to_string()))
    };
    if is(&config.repo) || is(present) {
        return on_server(config, url);
    }
    let shown = without_login(url);
    Err(CommandError::new(
        Kind::Config,
        format!(
            "the clone `{}` belongs to another repository: its `origin` is `{shown}`, not `{}`",
            config.path.display(),
            config.repo
        ),
    )
    .hint(format!(
        "mend `path` or `repo` under `repositories.{}`",
        config.alias
    )))
}

/// Does it lead to the GitHub that `github.api_url` means? An address over ssh may be an alias of the
/// user's ssh configuration, and a path has no server.
fn on_server(config: &RepoConfig, url: &str) -> Result<(), CommandError> {
    let (Some(meant), Some(Remote::Web(host))) = (server(config), Remote::of(url)) else {
        return Ok(());
    };
    if host == meant {
        return Ok(());
    }
    let path = config.path.display();
    let what = format!(
        "the clone `{path}` is one of another server: its `origin` is on `{host}`, but `github.api_url` \
         means `{meant}`"
    );
    Err(CommandError::new(Kind::Config, what)
        .hint(format!(
            "point it there: git -C {path} remote set-url origin {}",
            clone_url(config)
        ))
        .hint(format!(
            "or mend `repositories.{}.github.api_url`",
            config.alias
        )))
}

/// The name in an address over ssh that is not the server's: where it leads, the user's ssh configuration
/// says, which nobody reads here.
pub fn ssh_alias(config: &RepoConfig, url: &str) -> Option<(String, String)> {
    let meant = server(config)?;
    let Some(Remote::Ssh(host)) = Remote::of(url) else {
        return None;
    };
    let bare = meant.split(':').next().unwrap_or_default();
    // https://docs.github.com/en/authentication/troubleshooting-ssh/using-ssh-over-the-https-port, 2026-11-30
    let known = host == bare || (bare == "github.com" && host == "ssh.github.com");
    (!known).then_some((host, meant))
}

/// Where a remote's address leads.
#[derive(Debug, PartialEq, Eq)]
enum Remote {
    /// `https`, `http` or `git`: host, and port if it is not the usual one.
    Web(String),
    /// The host, or an alias.
    Ssh(String),
}

impl Remote {
    /// `None`: a path.
    fn of(url: &str) -> Option<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            // `git@host:owner/name`, not `/a/path`.
            let (host, _) = url
                .split_once(':')
                .filter(|(host, _)| !host.contains('/'))?;
            let host = host.rsplit('@').next()?;
            return Some(Self::Ssh(host.to_lowercase()));
        };
        let authority = rest.split('/').next()?.rsplit('@').next()?.to_lowercase();
        let usual = match scheme {
            "https" => ":443",
            "http" => ":80",
            "git" => ":9418",
            "ssh" | "git+ssh" | "ssh+git" => {
                let host = authority.split(':').next()?;
                return Some(Self::Ssh(host.to_owned()));
            }
            _ => return None,
        };
        let host = authority.strip_suffix(usual).unwrap_or(&authority);
        // Two names of one place.
        Some(Self::Web(match host.strip_prefix("localhost") {
            Some(port) if port.is_empty() || port.starts_with(':') => format!("127.0.0.1{port}"),
            _ => host.strip_prefix("www.").unwrap_or(host).to_owned(),
        }))
    }
}

/// The server of the web pages and of git that belongs to `github.api_url`; `None`: it does not tell.
fn server(config: &RepoConfig) -> Option<String> {
    let api = config.github.api_url.trim_end_matches('/');
    let (_, rest) = api.split_once("://")?;
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let Some(Remote::Web(host)) = Remote::of(api) else {
        return None;
    };
    match host.strip_prefix("api.") {
        // GitHub's own, and those of its customers (`api.NAME.ghe.com`).
        Some(bare) if path.is_empty() => Some(bare.to_owned()),
        _ if path == "api/v3" || api.starts_with("http://") => Some(host),
        // Something between us and GitHub.
        _ => None,
    }
}

/// `owner/name` of a remote's address: the last two parts of https, ssh and scp-like forms alike, since
/// host names may be aliases of the user's ssh configuration.
pub fn slug_of(url: &str) -> Option<String> {
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix(".git").unwrap_or(url);
    let mut parts = url.rsplit(['/', ':']);
    let (name, owner) = (parts.next()?, parts.next()?);
    (!name.is_empty() && !owner.is_empty()).then(|| format!("{owner}/{name}"))
}

/// An address may hold a password.
pub fn without_login(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}

fn clone_url(config: &RepoConfig) -> String {
    let api = config.github.api_url.trim_end_matches('/');
    let scheme = api.split_once("://").map_or("https", |(scheme, _)| scheme);
    let server = server(config).unwrap_or_else(|| "github.com".to_owned());
    format!("{scheme}://{server}/{}.git", config.repo)
}

/// The nearest folder that is there, for questions about a place that is yet to be made.
pub fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|p| p.exists()).unwrap_or(path)
}

#[cfg(test)]
mod tests;
