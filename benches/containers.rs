//! What a step in a container costs over `docker run --rm` of the same. Needs an engine and the image that
//! the tests make (`ghswarm-test/busybox:2`); without them it says so and measures nothing.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a benchmark stops where it meets what it did not expect"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ghswarm::adapters::docker::{DockerContainers, Places};
use ghswarm::model::ids::{Epoch, IssueNumber};
use ghswarm::model::run::{RunKey, RunKind};
use ghswarm::model::sandbox::{Caps, Network, Pull, Sandbox, SandboxOwner, User};
use ghswarm::ports::containers::{ContainerJob, Containers as _};

const IMAGE: &str = "ghswarm-test/busybox:2";

fn job(dir: &tempfile::TempDir) -> ContainerJob {
    ContainerJob {
        key: RunKey {
            issue: IssueNumber(1),
            epoch: Epoch(1),
            seq: 1,
            kind: RunKind::Verify,
            again: 0,
        },
        index: 0,
        folder: dir.path().join("runs/7/issue-1/run"),
        worktree: dir.path().join("tree"),
        agent: None,
        dir: PathBuf::new(),
        shell: "true".to_owned(),
        env: BTreeMap::new(),
        sandbox: Sandbox {
            config: "verify.sandbox".to_owned(),
            image: IMAGE.to_owned(),
            pull: Pull::Never,
            network: Network::Default,
            user: User::Auto,
            env: BTreeMap::new(),
            env_passthrough: Vec::new(),
            volumes: Vec::new(),
            isolate_dirs: Vec::new(),
            caps: Caps::default(),
        },
        owner: SandboxOwner {
            instance: format!("bench{}", std::process::id()),
            repository: 7,
        },
    }
}

fn steps(c: &mut Criterion) {
    let places = Places::of(&|name| std::env::var(name).ok());
    let engine = DockerContainers::new(places, BTreeMap::new()).unwrap();
    if engine.has(IMAGE) != Ok(true) {
        eprintln!("no engine with the image `{IMAGE}`: cargo test --test it docker::");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let job = job(&dir);
    fs::create_dir_all(&job.folder).unwrap();
    fs::create_dir_all(&job.worktree).unwrap();
    let mut group = c.benchmark_group("a trivial step");
    group.sample_size(10);
    group.bench_function("docker run --rm", |b| {
        b.iter(|| {
            let mount = format!("{}:/workspace", job.worktree.display());
            let words = ["run", "--rm", "--init", "-v", &mount, IMAGE, "/bin/true"];
            let done = Command::new("docker").args(words).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        });
    });
    group.bench_function("ghswarm", |b| {
        b.iter(|| {
            let container = engine.start(job.clone(), Arc::new(|_| ()));
            while container.facts().unwrap().end.is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            container.remove();
        });
    });
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
