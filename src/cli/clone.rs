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
        return Ok(());
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
    let web = if api == "https://api.github.com" {
        "https://github.com"
    } else {
        api.trim_end_matches("/api/v3")
    };
    format!("{web}/{}.git", config.repo)
}

/// The nearest folder that is there, for questions about a place that is yet to be made.
pub fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|p| p.exists()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{slug_of, without_login};

    #[test]
    fn every_form_of_address_names_its_repository() {
        for url in [
            "https://github.com/demo/greeter.git",
            "https://github.com/demo/greeter/",
            "ssh://git@github.com:22/demo/greeter.git",
            "git@work-alias:demo/greeter.git",
            "http://127.0.0.1:4040/demo/greeter.git",
        ] {
            assert_eq!(slug_of(url).as_deref(), Some("demo/greeter"), "{url}");
        }
        assert_eq!(slug_of("greeter"), None);
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(
            without_login("https://me:secret@example.com/a/b"),
            "https://example.com/a/b"
        );
        assert_eq!(without_login("git@host:a/b"), "git@host:a/b");
    }
}
