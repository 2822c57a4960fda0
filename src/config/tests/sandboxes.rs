//! `verify`: where steps run.

use std::path::PathBuf;
use std::time::Duration;

use super::{check, good, read, with};
use crate::model::sandbox::{Caps, Network, Pull, User, place_of};

#[test]
fn steps_run_on_the_host_unless_a_driver_is_named() {
    let repo = good("poll_interval: 1");
    assert_eq!(repo.places.len(), 1);
    assert!(repo.places[0].sandbox.is_none());
    assert_eq!(repo.places[0].config, "verify.sandbox");
}

#[test]
fn the_time_limit_holds_on_the_host_as_well() {
    let repo = good("verify: {sandbox: {timeout: 90s}}");
    assert_eq!(repo.places[0].clocks.total, Duration::from_secs(90));
    assert!(repo.places[0].sandbox.is_none());
    // Steps that no entry is for have the default's.
    let repo = good("verify: [{path: a, sandbox: {timeout: 90s}}]");
    assert_eq!(repo.verify_clocks.total, Duration::from_secs(7200));
}

#[test]
fn one_sandbox_holds_for_all_steps_with_the_defaults_of_its_keys() {
    let repo = good("verify: {sandbox: {driver: docker, image: 'rust:1'}}");
    for path in [None, Some("."), Some("api")] {
        let place = place_of(&repo.places, path).unwrap();
        let sandbox = place.sandbox.as_ref().unwrap();
        assert_eq!(sandbox.image, "rust:1");
        assert_eq!(
            (sandbox.pull, sandbox.network),
            (Pull::Missing, Network::Default)
        );
        assert_eq!(sandbox.user, User::Auto);
        assert_eq!(sandbox.caps, Caps::default());
        assert_eq!(place.clocks.total, Duration::from_secs(7200));
    }
}

#[test]
fn an_entry_holds_for_its_path_letter_by_letter_and_for_nothing_else() {
    let repo = good(
        "verify: [{path: ., sandbox: {timeout: 5m}}, {path: api, sandbox: {driver: docker, image: a, \
         user: '1000:100', pull: never, network: none, env: {A: b}, env_passthrough: [C], \
         volumes: ['cache:/cache:ro'], isolate_dirs: [./target/, a/b], memory: 1g, cpus: 1.5, pids: 9, \
         timeout: 90}}]",
    );
    assert!(place_of(&repo.places, Some("api/")).is_none());
    assert!(place_of(&repo.places, Some("web")).is_none());
    // A step without a path, and the set-up, are those of `.`.
    let root = place_of(&repo.places, None).unwrap();
    assert_eq!(root.config, "verify[.].sandbox");
    assert!(root.sandbox.is_none());
    assert_eq!(root.clocks.total, Duration::from_secs(300));
    let api = place_of(&repo.places, Some("api")).unwrap();
    assert_eq!(api.clocks.total, Duration::from_secs(90));
    let sandbox = api.sandbox.as_ref().unwrap();
    assert_eq!(sandbox.config, "verify[api].sandbox");
    assert_eq!(
        sandbox.user,
        User::Fixed {
            uid: 1000,
            gid: 100
        }
    );
    assert_eq!(
        (sandbox.pull, sandbox.network),
        (Pull::Never, Network::None)
    );
    assert_eq!(sandbox.env["A"], "b");
    assert_eq!(sandbox.env_passthrough, ["C"]);
    assert_eq!(sandbox.volumes, ["cache:/cache:ro"]);
    let dirs = [PathBuf::from("target"), PathBuf::from("a/b")];
    assert_eq!(sandbox.isolate_dirs, dirs);
    assert_eq!(sandbox.caps.memory, Some(1 << 30));
    assert_eq!(sandbox.caps.nano_cpus, Some(1_500_000_000));
    assert_eq!(sandbox.caps.pids, Some(9));
}

#[test]
fn what_makes_no_sandbox_is_told() {
    check(
        &with("verify: {sandbox: {driver: docker}}"),
        r"
c.yaml:6:32: `verify.sandbox.driver: docker` needs `verify.sandbox.image`
  hint: name an image that has what the steps need: `image: rust:1`
",
    );
    check(
        &with("verify: {sandbox: {image: 'rust:1'}}"),
        r"
c.yaml:6:31: `verify.sandbox.image` is not used: its steps run on the host
  hint: add `driver: docker`, or remove it
",
    );
    check(
        &with(
            "verify: {sandbox: {driver: docker, image: a, isolate_dirs: [., .git/hooks], env_passthrough: [GH_TOKEN]}}",
        ),
        r"
c.yaml:6:65: `verify.sandbox.isolate_dirs` names the worktree itself
  hint: name directories that are made again in each container, like `.venv`
c.yaml:6:68: `verify.sandbox.isolate_dirs` names git's own folder
  hint: name directories that are made again in each container, like `.venv`
c.yaml:6:99: `verify.sandbox.env_passthrough` names a GitHub token, which no step gets
  hint: remove it
",
    );
    check(
        &with(
            "verify: {sandbox: {driver: docker, image: a, user: ann, isolate_dirs: [../x], memory: 2gib, volumes: [here]}}",
        ),
        r"
c.yaml:6:56: `verify.sandbox.user` must be `auto`, `uid:gid` in numbers, or empty, not `ann`
  hint: write `auto`, or numbers like `1000:1000`
c.yaml:6:76: `verify.sandbox.isolate_dirs[0]` must be a relative path without `..`, not `../x`
  hint: write a path like `target` or `web/node_modules`
c.yaml:6:91: `verify.sandbox.memory` must be a size of 6m or more, like `512m` or `2g`, or empty, not `2gib`
  hint: write a size like `512m` or `2g`
c.yaml:6:107: `verify.sandbox.volumes[0]` must be `source:target` or `source:target:ro`, with full paths, not `here`
  hint: write it like `/data:/data:ro`, or `cache:/cache` for a named volume
",
    );
}

#[test]
fn agents_run_in_containers_of_their_own_image() {
    assert!(good("max_retries: 1").agents.sandbox.is_none());
    let config = read(
        "repositories:
  demo: {repo: o/r, path: /p, agents: {implement: {command: a}, review: {command: a}, sandbox: {driver: docker, image: 'agent:1', env_passthrough: [ANTHROPIC_API_KEY]}}}
",
    );
    let sandbox = config.unwrap().repositories["demo"].agents.sandbox.clone();
    let sandbox = sandbox.unwrap();
    assert_eq!(sandbox.config, "agents.sandbox");
    assert_eq!(sandbox.image, "agent:1");
    assert_eq!(sandbox.env_passthrough, ["ANTHROPIC_API_KEY"]);
}

#[test]
fn what_an_agent_in_a_container_cannot_have_is_told() {
    check(
        "repositories:
  demo: {repo: o/r, path: /p, agents: {implement: {command: a, github: inherit}, review: {command: a}, sandbox: {driver: docker, timeout: 1h, env_passthrough: [GH_TOKEN]}}}
",
        r"
c.yaml:2:72: `agents.implement.github: inherit` does nothing: agents run in containers
  hint: remove it, or the `driver` of `agents.sandbox`
c.yaml:2:122: `agents.sandbox.driver: docker` needs `agents.sandbox.image`
  hint: name an image that has what the agents need: `image: rust:1`
c.yaml:2:139: `agents.sandbox.timeout` is not supported yet: each agent has its own `timeout`
  hint: remove it
c.yaml:2:161: `agents.sandbox.env_passthrough` names a GitHub token, which no agent gets
  hint: remove it
",
    );
}
