//! `verify` and `agents.sandbox`: where steps and agents run. Typed values, and sense across the keys of one sandbox.

use std::path::{Component, PathBuf};
use std::time::Duration;

use super::problem::{Fault, Problems};
use super::read::Reader;
use super::tree::{Node, Origin};
use super::values::{parse_box_user, parse_number};
use crate::model::run::Clocks;
use crate::model::sandbox::{Caps, Network, Pull, Sandbox, StepPlace, User, parse_bytes};

/// The default of `verify.sandbox.timeout`.
pub(super) const VERIFY_TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);

/// Variables that would give a step the operator's voice on GitHub: no run gets them.
const TOKENS: [&str; 4] = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GH_ENTERPRISE_TOKEN",
];

/// The clocks of a step. Tests are often silent for long: only the whole time counts.
pub(super) fn step_clocks(total: Duration) -> Clocks {
    Clocks {
        startup: total,
        idle: total,
        total,
        completion_grace: Duration::from_secs(60),
        kill_grace: Duration::from_secs(10),
    }
}

/// The entries: one for all steps, or one a path.
pub(super) fn read_places(verify: &Node) -> Vec<StepPlace> {
    match verify.list() {
        None => vec![read_place(None, Reader::of(verify))],
        Some(list) => list
            .iter()
            .map(|entry| {
                let entry = Reader::of(entry);
                read_place(Some(entry.text("path")), entry)
            })
            .collect(),
    }
}

fn read_place(path: Option<String>, entry: Reader<'_>) -> StepPlace {
    let config = match &path {
        Some(path) => format!("verify[{path}].sandbox"),
        None => "verify.sandbox".to_owned(),
    };
    let keys = entry.at("sandbox");
    let timeout = Some(keys.time("timeout")).filter(|time| !time.is_zero());
    StepPlace {
        path,
        clocks: step_clocks(timeout.unwrap_or(VERIFY_TIMEOUT)),
        sandbox: read_boxes(&config, keys),
        config,
    }
}

/// The containers that a sandbox names; `None`: the host.
pub(super) fn read_boxes(config: &str, keys: Reader<'_>) -> Option<Sandbox> {
    (keys.text("driver") == "docker").then(|| read_sandbox(config, keys))
}

fn read_sandbox(config: &str, keys: Reader<'_>) -> Sandbox {
    Sandbox {
        config: config.to_owned(),
        image: keys.text("image"),
        pull: match keys.text("pull").as_str() {
            "never" => Pull::Never,
            "always" => Pull::Always,
            _ => Pull::Missing,
        },
        network: match keys.text("network").as_str() {
            "none" => Network::None,
            _ => Network::Default,
        },
        user: parse_box_user(&keys.text("user")).unwrap_or(User::Auto),
        env: keys.variables("env"),
        env_passthrough: keys.texts("env_passthrough"),
        volumes: keys.texts("volumes"),
        isolate_dirs: keys
            .texts("isolate_dirs")
            .iter()
            .map(|dir| plain(dir))
            .collect(),
        caps: Caps {
            memory: parse_bytes(&keys.text("memory")),
            nano_cpus: parse_number(keys.get("cpus")).and_then(nano),
            pids: Some(keys.count("pids")).filter(|pids| *pids > 0),
        },
    }
}

/// `./a/` and `a` are the same directory.
fn plain(dir: &str) -> PathBuf {
    PathBuf::from(dir)
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect()
}

fn nano(cpus: f64) -> Option<u64> {
    // Thousandths are as fine as anybody means.
    let exact = Duration::try_from_secs_f64(cpus).ok()?;
    let nano = u64::try_from(exact.as_nanos()).ok()? / 1_000_000 * 1_000_000;
    Some(nano).filter(|nano| *nano > 0)
}

/// Sense across the keys of each sandbox.
pub(super) fn check_sandboxes(all: Reader<'_>, problems: &mut Problems) {
    let verify = all.get("verify");
    let entries = verify.list().unwrap_or(std::slice::from_ref(verify));
    for entry in entries {
        let keys = Reader::of(entry).at("sandbox");
        check_sandbox(("verify.sandbox", "steps"), keys, problems);
    }
    let agents = all.at("agents");
    let keys = agents.at("sandbox");
    check_sandbox(("agents.sandbox", "agents"), keys, problems);
    if keys.text("driver") == "docker" {
        for phase in ["implement", "review", "simplify"] {
            check_agent_in_box(phase, agents.at(phase), problems);
        }
    }
}

/// Of the host's environment and logins a container has nothing that an agent's own keys could keep.
fn check_agent_in_box(phase: &str, agent: Reader<'_>, problems: &mut Problems) {
    let github = agent.get("github");
    if agent.text("github") == "inherit" {
        let message =
            format!("`agents.{phase}.github: inherit` does nothing: agents run in containers");
        let hint = "remove it, or the `driver` of `agents.sandbox`";
        problems.add(github.at, Fault::new(message).hint(hint));
    }
}

fn check_sandbox((name, who): (&str, &str), keys: Reader<'_>, problems: &mut Problems) {
    check_image((name, who), keys, problems);
    for dir in keys.get("isolate_dirs").list().unwrap_or_default() {
        let path = plain(&dir.scalar().unwrap_or_default());
        let whole = path.as_os_str().is_empty();
        if whole || path.starts_with(".git") {
            let what = if whole {
                "the worktree itself"
            } else {
                "git's own folder"
            };
            let message = format!("`{name}.isolate_dirs` names {what}");
            let hint = "name directories that are made again in each container, like `.venv`";
            problems.add(dir.at, Fault::new(message).hint(hint));
        }
    }
    for passed in keys.get("env_passthrough").list().unwrap_or_default() {
        if passed.text().is_some_and(|name| TOKENS.contains(&name)) {
            let who = if who == "agents" { "agent" } else { "step" };
            let message =
                format!("`{name}.env_passthrough` names a GitHub token, which no {who} gets");
            problems.add(passed.at, Fault::new(message).hint("remove it"));
        }
    }
}

fn check_image((name, who): (&str, &str), keys: Reader<'_>, problems: &mut Problems) {
    let (driver, image) = (keys.get("driver"), keys.get("image"));
    let named = image.text().is_some_and(|name| !name.trim().is_empty());
    match keys.text("driver").as_str() {
        "docker" if !named => problems.add(
            driver.at,
            Fault::new(format!("`{name}.driver: docker` needs `{name}.image`")).hint(format!(
                "name an image that has what the {who} need: `image: rust:1`"
            )),
        ),
        "none" if named && image.origin != Origin::Default => problems.add(
            image.at,
            Fault::new(format!(
                "`{name}.image` is not used: its {who} run on the host"
            ))
            .hint("add `driver: docker`, or remove it"),
        ),
        _ => {}
    }
}
