//! Where the token comes from: `GITHUB_TOKEN`, `GH_TOKEN`, `github.token_command`, `gh auth token`.

use std::process::{Command, Stdio};

use secrecy::{ExposeSecret as _, SecretString};

use super::environment::Env;
use super::error::{CommandError, Kind};
use crate::config::RepoConfig;

/// The token for a repository, and where it came from.
pub struct Token {
    /// The token.
    pub secret: SecretString,
    /// For people.
    pub from: &'static str,
}

/// Finds it, and sees that it can be one.
pub fn find(env: &Env, config: &RepoConfig) -> Result<Token, CommandError> {
    let token = search(env, config)?;
    let strange = |c: char| !c.is_ascii_graphic();
    if token.secret.expose_secret().contains(strange) {
        let what = format!(
            "the token from {} holds a space, a line break or another character no token has",
            token.from
        );
        return Err(CommandError::new(Kind::Outside, what)
            .hint("it has to be the token alone, on one line"));
    }
    Ok(token)
}

fn search(env: &Env, config: &RepoConfig) -> Result<Token, CommandError> {
    for (name, from) in [("GITHUB_TOKEN", "GITHUB_TOKEN"), ("GH_TOKEN", "GH_TOKEN")] {
        let set = config.env.get(name).cloned().or_else(|| env.get(name));
        if let Some(token) = set.filter(|token| !token.trim().is_empty()) {
            return Ok(Token {
                secret: token.trim().to_owned().into(),
                from,
            });
        }
    }
    if let Some(command) = &config.github.token_command {
        let token = ask(&["sh", "-c", command]).map_err(|error| {
            CommandError::outside("`github.token_command` gives no token", error)
                .hint(format!("try it yourself: sh -c {}", quoted(command)))
        })?;
        return Ok(Token {
            secret: token.into(),
            from: "github.token_command",
        });
    }
    let host = host(&config.github.api_url);
    match ask(&["gh", "auth", "token", "--hostname", &host]) {
        Ok(token) => Ok(Token {
            secret: token.into(),
            from: "gh auth token",
        }),
        Err(_) => Err(CommandError::new(Kind::Outside, "there is no GitHub token")
            .hint("set GITHUB_TOKEN, or set `github.token_command` in the configuration")
            .hint("or log in with GitHub's own tool: gh auth login")),
    }
}

fn quoted(command: &str) -> String {
    shlex::try_quote(command).map_or_else(|_| command.to_owned(), std::borrow::Cow::into_owned)
}

/// The host that `gh` knows, from the API's address.
fn host(api_url: &str) -> String {
    let rest = api_url.split_once("://").map_or(api_url, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    if host == "api.github.com" {
        "github.com".to_owned()
    } else {
        host.to_owned()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a token command is neither git nor a run"
)]
fn ask(words: &[&str]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("cannot run `{program}`: {error}"))?;
    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("it failed ({}): {said}", output.status));
    }
    if token.is_empty() {
        return Err("it printed nothing".to_owned());
    }
    Ok(token)
}
