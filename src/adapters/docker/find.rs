//! Where the engine is: `DOCKER_HOST`, the docker context, or one of the usual sockets. The Docker CLI
//! knows all of that; its API client does not.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bollard::{API_DEFAULT_VERSION, Docker};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{Engine, clients, words};
use crate::model::limits::CONTAINER_ANSWER_MAX;
use crate::ports::{PortError, PortResult};

const WHAT: &str = "find a Docker engine";

/// Where an engine may be, by the environment of this process.
#[derive(Debug, Clone)]
pub struct Places(Result<Vec<Address>, String>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    Unix(PathBuf),
    Tcp(String),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CliConfig {
    current_context: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ContextMeta {
    endpoints: std::collections::BTreeMap<String, Endpoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint {
    host: String,
}

impl Places {
    /// `var` reads a variable of the environment.
    pub fn of(var: &dyn Fn(&str) -> Option<String>) -> Self {
        Self(addresses(var))
    }

    /// The first one that answers.
    pub(super) async fn connect(&self) -> PortResult<Engine> {
        let addresses = self
            .0
            .as_ref()
            .map_err(|trouble| PortError::unavailable(WHAT, trouble, None))?;
        let mut tried = Vec::new();
        for address in addresses {
            match connect(address).await {
                Ok(engine) => return Ok(engine),
                Err(error) => tried.push(format!("`{}`: {}", address.spoken(), words(&error))),
            }
        }
        let message = format!(
            "no Docker engine answers ({}). Start it, make its socket accessible to this user, or say \
             where it is: DOCKER_HOST=unix:///path/to/docker.sock",
            tried.join("; ")
        );
        Err(PortError::unavailable(WHAT, message, None))
    }
}

impl Address {
    fn spoken(&self) -> String {
        match self {
            Self::Unix(path) => path.display().to_string(),
            Self::Tcp(host) => host.clone(),
        }
    }

    fn parse(host: &str, tls: bool) -> Result<Self, String> {
        if let Some(path) = host.strip_prefix("unix://") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let plain = host.starts_with("tcp://") || host.starts_with("http://");
        if plain && !tls {
            return Ok(Self::Tcp(host.to_owned()));
        }
        Err(format!(
            "the Docker engine `{host}` is out of reach: only sockets (`unix://`) and plain `tcp://` \
             are supported. Forward its socket, for instance: ssh -NL \
             /tmp/docker.sock:/var/run/docker.sock HOST, and set \
             DOCKER_HOST=unix:///tmp/docker.sock"
        ))
    }
}

fn addresses(var: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Address>, String> {
    let tls = var("DOCKER_TLS_VERIFY").is_some();
    if let Some(host) = var("DOCKER_HOST") {
        return Ok(vec![Address::parse(&host, tls)?]);
    }
    let home = var("HOME").map(PathBuf::from);
    let folder = var("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".docker")));
    if let Some(folder) = &folder
        && let Some(context) = context(folder, var("DOCKER_CONTEXT"))
    {
        let host = context_host(folder, &context)?;
        return Ok(vec![Address::parse(&host, false)?]);
    }
    let runtime = var("XDG_RUNTIME_DIR").map(PathBuf::from);
    let sockets = [
        Some(PathBuf::from("/var/run/docker.sock")),
        runtime.as_ref().map(|dir| dir.join("docker.sock")),
        home.as_ref()
            .map(|home| home.join(".docker/run/docker.sock")),
        runtime.as_ref().map(|dir| dir.join("podman/podman.sock")),
        Some(PathBuf::from("/run/podman/podman.sock")),
    ];
    let sockets: Vec<PathBuf> = sockets.into_iter().flatten().collect();
    let there: Vec<_> = sockets.iter().filter(|path| path.exists()).collect();
    // Where there is none the usual one is named.
    let first = sockets.first().into_iter().collect();
    let named = if there.is_empty() { first } else { there };
    Ok(named.into_iter().cloned().map(Address::Unix).collect())
}

/// The name of the context that is chosen; `default` is none.
fn context(folder: &Path, chosen: Option<String>) -> Option<String> {
    let of_file = || {
        let text = std::fs::read_to_string(folder.join("config.json")).ok()?;
        let config: CliConfig = serde_json::from_str(&text).ok()?;
        Some(config.current_context)
    };
    chosen
        .or_else(of_file)
        .filter(|name| !name.is_empty() && name != "default")
}

/// Contexts are kept under the hash of their name.
fn context_file(folder: &Path, name: &str) -> PathBuf {
    let digest = Sha256::digest(name.as_bytes());
    let hash = digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    folder.join("contexts/meta").join(hash).join("meta.json")
}

fn context_host(folder: &Path, name: &str) -> Result<String, String> {
    let file = context_file(folder, name);
    let trouble = |error: &dyn std::fmt::Display| {
        format!(
            "the docker context `{name}` cannot be read (`{}`: {error}). Choose another one: docker \
             context use default",
            file.display()
        )
    };
    let text = std::fs::read_to_string(&file).map_err(|error| trouble(&error))?;
    let meta: ContextMeta = serde_json::from_str(&text).map_err(|error| trouble(&error))?;
    meta.endpoints
        .get("docker")
        .map(|endpoint| endpoint.host.clone())
        .ok_or_else(|| trouble(&"it has no docker endpoint"))
}

async fn connect(address: &Address) -> Result<Engine, bollard::errors::Error> {
    let secs = CONTAINER_ANSWER_MAX.as_secs();
    let docker = match address {
        Address::Unix(path) => {
            Docker::connect_with_unix(&path.display().to_string(), secs, API_DEFAULT_VERSION)?
        }
        Address::Tcp(host) => Docker::connect_with_http(host, secs, API_DEFAULT_VERSION)?,
    };
    let docker = docker.negotiate_version().await?;
    let info = docker.info().await?;
    let options = info.security_options.unwrap_or_default();
    let (docker, patient) = clients(docker);
    Ok(Engine {
        docker,
        patient,
        id: info.id.unwrap_or_default(),
        rootless: options.iter().any(|option| option.contains("rootless")),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn found(vars: &[(&str, &str)]) -> Result<Vec<Address>, String> {
        let vars: BTreeMap<_, _> = vars.iter().copied().collect();
        addresses(&|name| vars.get(name).map(|value| (*value).to_owned()))
    }

    /// A folder as the Docker CLI keeps it, with one context.
    fn docker_folder(host: &str, current: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        // The hash of `away`, as the Docker CLI spells it.
        let hash = "378ce56a9d146d5174c89d1c0353d7f8e2244e89bb83935a5b1bdcf5e74b4e7f";
        let meta = dir.path().join("contexts/meta").join(hash);
        fs::create_dir_all(&meta).unwrap();
        let text = format!(
            r#"{{"Name":"away","Metadata":{{}},"Endpoints":{{"docker":{{"Host":"{host}","SkipTLSVerify":false}}}}}}"#
        );
        fs::write(meta.join("meta.json"), text).unwrap();
        let config = format!(r#"{{"auths":{{}},"currentContext":"{current}"}}"#);
        fs::write(dir.path().join("config.json"), config).unwrap();
        dir
    }

    #[test]
    fn docker_host_wins_over_everything() {
        let dir = docker_folder("unix:///ctx.sock", "away");
        let config = dir.path().display().to_string();
        let found = found(&[
            ("DOCKER_HOST", "unix:///a.sock"),
            ("DOCKER_CONFIG", &config),
        ]);
        assert_eq!(found, Ok(vec![Address::Unix("/a.sock".into())]));
    }

    #[test]
    fn the_current_context_names_the_socket() {
        let dir = docker_folder("unix:///ctx.sock", "away");
        let config = dir.path().display().to_string();
        let ctx = vec![Address::Unix("/ctx.sock".into())];
        assert_eq!(found(&[("DOCKER_CONFIG", &config)]), Ok(ctx.clone()));
        let dir = docker_folder("unix:///ctx.sock", "default");
        let config = dir.path().display().to_string();
        assert_ne!(found(&[("DOCKER_CONFIG", &config)]), Ok(ctx.clone()));
        let both = [
            ("DOCKER_CONFIG", config.as_str()),
            ("DOCKER_CONTEXT", "away"),
        ];
        assert_eq!(found(&both), Ok(ctx));
    }

    #[test]
    fn a_context_that_is_gone_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().display().to_string();
        let trouble = found(&[("DOCKER_CONFIG", &config), ("DOCKER_CONTEXT", "gone")]).unwrap_err();
        assert!(
            trouble.contains("`gone`") && trouble.contains("docker context use"),
            "{trouble}"
        );
    }

    #[test]
    fn what_is_out_of_reach_says_what_to_do() {
        for host in ["ssh://me@there", "tcp://there:2376"] {
            let trouble = found(&[("DOCKER_HOST", host), ("DOCKER_TLS_VERIFY", "1")]).unwrap_err();
            assert!(
                trouble.contains(host) && trouble.contains("ssh -NL"),
                "{trouble}"
            );
        }
        let plain = found(&[("DOCKER_HOST", "tcp://there:2375")]);
        assert_eq!(plain, Ok(vec![Address::Tcp("tcp://there:2375".to_owned())]));
    }

    #[test]
    fn the_usual_sockets_are_tried_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("podman")).unwrap();
        fs::write(dir.path().join("podman/podman.sock"), "").unwrap();
        let runtime = dir.path().display().to_string();
        let found = found(&[("XDG_RUNTIME_DIR", &runtime)]).unwrap();
        assert!(found.contains(&Address::Unix(dir.path().join("podman/podman.sock"))));
    }
}
