//! The demo's world: a simulated GitHub with one repository, CI, a reviewer, and the user's side of it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::args::DemoOptions;
use super::super::error::{CommandError, Kind};
use crate::model::body::{VerifyBlock, parse};
use crate::model::ids::RepoSlug;
use crate::sim::github::{Actors, ActorsConfig, Seed, Sim, SimRepo};

const PROJECT: &[(&str, &str)] = &[
    (
        "greet.sh",
        include_str!("../../../examples/greeter/greet.sh"),
    ),
    ("test.sh", include_str!("../../../examples/greeter/test.sh")),
    (
        "tests/test_greeting.sh",
        include_str!("../../../examples/greeter/tests/test_greeting.sh"),
    ),
    (
        "README.md",
        include_str!("../../../examples/greeter/README.md"),
    ),
];
const ISSUE: &str = include_str!("../../../examples/demo/issue.md");
const AGENT: &str = include_str!("../../../examples/demo/demo-agent");
const REVIEWER: &str = include_str!("../../../examples/demo/demo-reviewer");

/// Who writes the issue and owns the token.
pub const OWNER: &str = "demo";
/// Who approves.
const APPROVER: &str = "rita";

/// What the demo is about.
pub struct Script {
    /// Title of the issue.
    pub title: String,
    /// Its body.
    pub body: String,
    /// The implementing agent's command.
    pub agent: String,
    /// The reviewing agent's command.
    pub review: String,
    /// What CI runs.
    pub ci: Option<String>,
    /// The image that the verify steps run in.
    pub docker: Option<String>,
}

/// The simulated side.
pub struct Hub {
    /// GitHub.
    pub sim: Arc<Sim>,
    /// The repository.
    pub repo: SimRepo,
    /// Its name.
    pub slug: RepoSlug,
    /// The issue.
    pub issue: u64,
    /// CI and reviewer; they stop when this is dropped.
    pub actors: Actors,
}

/// The script of this demo: the example's, or the user's own.
pub fn script(options: &DemoOptions, dir: &Path) -> Result<Script, CommandError> {
    let given = (&options.issue, &options.agent, &options.review);
    let (text, agent, review) = if let (Some(file), Some(agent), Some(review)) = given {
        (issue_text(file)?, agent.clone(), review.clone())
    } else {
        let agent = plant(dir, "demo-agent", AGENT)?;
        let review = plant(dir, "demo-reviewer", REVIEWER)?;
        (
            ISSUE.to_owned(),
            format!("{} {{prompt_file}}", quoted(&agent)),
            format!("{} {{prompt_file}}", quoted(&review)),
        )
    };
    let (title, body) = text.split_once('\n').unwrap_or((&text, ""));
    let ci = options.ci.clone().or_else(|| ci_from_verify(body));
    let title = title.trim().trim_start_matches('#').trim().to_owned();
    if title.is_empty() {
        return Err(CommandError::new(
            Kind::Usage,
            "the issue's first line is empty: it is the title",
        ));
    }
    Ok(Script {
        title,
        body: body.to_owned(),
        agent,
        review,
        ci,
        docker: options.docker.clone(),
    })
}

/// The issue as a person would have typed it.
fn issue_text(file: &Path) -> Result<String, CommandError> {
    let shown = file.display();
    let wrong = |what: String| {
        CommandError::new(Kind::Usage, what)
            .hint("name a text file whose first line is the title: --issue FILE")
    };
    let bytes = std::fs::read(file)
        .map_err(|error| wrong(format!("cannot read the issue `{shown}`: {error}")))?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(wrong(format!("the issue `{shown}` is not text"))),
    }
}

/// CI is the verify steps where the user names no other.
fn ci_from_verify(body: &str) -> Option<String> {
    match parse(body).verify {
        VerifyBlock::Steps(steps) if steps.is_empty() => None,
        VerifyBlock::Steps(steps) => {
            let steps = steps.iter().map(|step| match &step.path {
                Some(path) => format!("(cd {path} && {})", step.command),
                None => format!("({})", step.command),
            });
            Some(steps.collect::<Vec<_>>().join(" && "))
        }
        // The engine says what is wrong with the block: that is part of what a demo may show.
        VerifyBlock::Missing | VerifyBlock::Invalid { .. } => None,
    }
}

/// Writes a program of the demo.
fn plant(dir: &Path, name: &str, text: &str) -> Result<PathBuf, CommandError> {
    let path = dir.join("bin").join(name);
    let failed = |error| CommandError::outside(format!("cannot write `{}`", path.display()), error);
    std::fs::create_dir_all(dir.join("bin")).map_err(failed)?;
    std::fs::write(&path, text).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(path)
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or_else(|_| text.clone(), std::borrow::Cow::into_owned)
}

/// Sets GitHub up.
pub fn hub(options: &DemoOptions, dir: &Path, script: &Script) -> Result<Hub, CommandError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: crate::sim::github::SimError| CommandError::outside(what, error.to_string())
    };
    let sim = Sim::new(dir.join("github"));
    let slug = RepoSlug {
        owner: OWNER.to_owned(),
        name: name(options),
    };
    let seed = match &options.repo {
        Some(clone) => Seed::Clone(clone),
        None => Seed::Files(PROJECT),
    };
    let repo = sim
        .create_repo(&slug, &seed)
        .map_err(failed("cannot copy the clone"))
        .map_err(|error| error.hint("`--repo` wants a git clone with at least one commit"))?;
    let issue = repo
        .open_issue(OWNER, &script.title, &script.body, &["status: idle"])
        .map_err(failed("cannot open the issue"))?;
    let config = ActorsConfig {
        ci_command: script.ci.clone(),
        check_name: "ci".to_owned(),
        reviewer: Some(APPROVER.to_owned()),
    };
    let actors = Actors::start(&repo, &config).map_err(failed("cannot start CI"))?;
    Ok(Hub {
        sim,
        repo,
        slug,
        issue,
        actors,
    })
}

fn name(options: &DemoOptions) -> String {
    let named = options.repo.as_ref().and_then(|path| {
        let path = path.canonicalize().ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    });
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    named
        .map(|name| name.chars().filter(|c| plain(*c)).collect::<String>())
        .filter(|name| name.parse::<RepoSlug>().is_err() && !name.is_empty())
        .unwrap_or_else(|| "greeter".to_owned())
}

/// The user's side: clone and configuration.
pub fn user_side(
    dir: &Path,
    hub: &Hub,
    script: &Script,
    url: &str,
) -> Result<(PathBuf, PathBuf), CommandError> {
    let clone = dir.join("clone");
    let slug = hub.slug.clone();
    let remote = format!("{url}/{slug}.git");
    clone_from(&hub.repo.path(), &clone, &remote)?;
    let config = dir.join("ghswarm.yaml");
    let text = render_config(dir, &clone, &slug, script, url);
    std::fs::write(&config, text).map_err(|error| {
        CommandError::outside(format!("cannot write `{}`", config.display()), error)
    })?;
    Ok((clone, config))
}

fn clone_from(bare: &Path, clone: &Path, remote: &str) -> Result<(), CommandError> {
    let failed = |error: git2::Error| CommandError::outside("cannot make the demo's clone", error);
    let repository = git2::Repository::clone(&bare.display().to_string(), clone).map_err(failed)?;
    repository
        .remote_set_url("origin", remote)
        .map_err(failed)?;
    let mut config = repository.config().map_err(failed)?;
    for (key, value) in [
        ("user.name", "Demo"),
        ("user.email", "demo@example.com"),
        ("commit.gpgsign", "false"),
    ] {
        config.set_str(key, value).map_err(failed)?;
    }
    Ok(())
}

fn render_config(dir: &Path, clone: &Path, slug: &RepoSlug, script: &Script, url: &str) -> String {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let sandbox = |image| {
        let image = json(image);
        format!("    verify: {{sandbox: {{driver: docker, image: {image}, network: none}}}}")
    };
    let lines = [
        "# Made by `ghswarm demo`. Times are short, since everything is on this machine."
            .to_owned(),
        "repositories:".to_owned(),
        "  demo:".to_owned(),
        format!("    repo: {slug}"),
        format!("    path: {}", json(&clone.display().to_string())),
        "    poll_interval: 300ms".to_owned(),
        "    ci_start_grace: 20s".to_owned(),
        "    post_merge_ci_grace: 20s".to_owned(),
        format!(
            "    event_db: {}",
            json(&dir.join("home/events.db").display().to_string())
        ),
        "    github:".to_owned(),
        format!("      api_url: {}", json(url)),
        "      write_spacing: 0s".to_owned(),
        "    agents:".to_owned(),
        "      implement:".to_owned(),
        format!("        command: {}", json(&script.agent)),
        "      review:".to_owned(),
        format!("        command: {}", json(&script.review)),
    ];
    let lines = lines
        .into_iter()
        .chain(script.docker.as_deref().map(sandbox));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}
