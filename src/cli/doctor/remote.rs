//! What `doctor` looks at on GitHub: token, repository, labels, and whether git gets at the base.

use std::sync::Arc;

use super::super::environment::Env;
use super::super::{clone, token, wiring};
use super::{Finding, Fix};
use crate::adapters::clock::SystemClock;
use crate::adapters::git::CliGit;
use crate::adapters::locks::Home;
use crate::comments::freeing;
use crate::config::RepoConfig;
use crate::model::labels::{LabelNames, Status};
use crate::model::repo::Repository;
use crate::ports::PortError;
use crate::ports::clock::Clock;
use crate::ports::git::Git as _;
use crate::ports::github::{GitHub, NewLabel};

/// All of it, as far as the first thing that the rest depends on.
pub async fn github(env: &Env, home: Option<&Home>, config: &RepoConfig, fix: Fix) -> Vec<Finding> {
    let token = match token::find(env, config) {
        Ok(token) => token,
        Err(error) => {
            let skipped = Finding::skipped("github", "not looked at: it needs a token");
            return vec![Finding::error("token", &error), skipped];
        }
    };
    let mut found = vec![Finding::good("token", format!("from {}", token.from))];
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let failed =
        |error: &PortError| Finding::error("github", &wiring::refused(error, &config.alias));
    let connected = wiring::connect(config, token.secret.clone(), clock.clone());
    let github = match connected {
        Ok(github) => github,
        Err(error) => {
            found.push(failed(&error));
            return found;
        }
    };
    let facts = match github.repository().await {
        Ok(facts) => facts,
        Err(error) => {
            found.push(failed(&error));
            return found;
        }
    };
    found.push(Finding::good(
        "github",
        format!("{} as @{}", config.github.api_url, facts.operator),
    ));
    found.extend(repository(config, &facts));
    found.push(labels(&*github, config, fix).await);
    if let Some(home) = home {
        let settings = wiring::git_settings(env, home, config, &facts, &token.secret);
        let git = CliGit::new(settings, clock.clone());
        found.push(base(&git, config, &facts).await);
    }
    found
}

fn repository(config: &RepoConfig, facts: &Repository) -> Vec<Finding> {
    let bad =
        |what: &str, reason: &str| Finding::bad("repository", what, freeing::repository(reason));
    let mut found = Vec::new();
    if facts.archived {
        found.push(bad(
            "it is archived: nothing can be written",
            "repository_archived",
        ));
    }
    if facts.default_branch.is_none() {
        found.push(bad("it is empty", "repository_empty"));
    }
    if !facts.can_push {
        found.push(bad("the token may not write to it", "no_contents_write"));
    }
    if found.is_empty() {
        found.push(Finding::good(
            "repository",
            format!("{}, writable", facts.slug),
        ));
    }
    if facts.slug != config.repo {
        found.push(Finding::bad(
            "name",
            format!("it is called `{}` now", facts.slug),
            format!("mend `repositories.{}.repo`", config.alias),
        ));
    }
    found
}

async fn labels(github: &dyn GitHub, config: &RepoConfig, fix: Fix) -> Finding {
    let there = match github.labels().await {
        Ok(there) => there,
        Err(error) => return Finding::error("labels", &wiring::refused(&error, &config.alias)),
    };
    let missing: Vec<NewLabel> = wanted(config)
        .into_iter()
        .filter(|label| {
            !there
                .iter()
                .any(|name| name.eq_ignore_ascii_case(&label.name))
        })
        .collect();
    let names: Vec<String> = missing.iter().map(|l| format!("`{}`", l.name)).collect();
    let names = names.join(", ");
    if missing.is_empty() {
        return Finding::good("labels", "all are there");
    }
    if fix == Fix::No {
        let what = format!("missing: {names}");
        return Finding::bad("labels", what, "create them: ghswarm doctor --fix");
    }
    for label in &missing {
        if let Err(error) = github.create_label(label).await {
            return Finding::error("labels", &wiring::refused(&error, &config.alias));
        }
    }
    Finding::good("labels", format!("created: {names}"))
}

/// The labels that are put on issues, each with its colour and its meaning.
pub fn wanted(config: &RepoConfig) -> Vec<NewLabel> {
    let names: &LabelNames = &config.labels;
    let label = |name: &str, colour: &str, description: &str| NewLabel {
        name: name.to_owned(),
        colour: colour.to_owned(),
        description: description.to_owned(),
    };
    let mut labels = vec![
        label(
            &names.idle,
            "c2e0c6",
            "Handed over to ghswarm; nobody works on it",
        ),
        label(&names.blocked, "d93f0b", "ghswarm waits for a person"),
        label(&names.completed, "0e8a16", "ghswarm has finished it"),
        label(&names.claim, "bfd4f2", "An agent has claimed it"),
        label(&names.hold, "fbca04", "ghswarm leaves it alone"),
    ];
    let agents = [
        Some(&config.agents.implement),
        config.agents.simplify.as_ref(),
        Some(&config.agents.review),
    ];
    for agent in agents.into_iter().flatten() {
        let busy = names.of(&Status::Busy(agent.name()));
        if labels.iter().all(|label| label.name != busy) {
            labels.push(label(&busy, "1d76db", "This agent works on it"));
        }
    }
    labels
}

async fn base(git: &CliGit, config: &RepoConfig, facts: &Repository) -> Finding {
    let Some(base) = config.base_branch.clone().or(facts.default_branch.clone()) else {
        return Finding::skipped("base branch", "not looked at: the repository is empty");
    };
    let Ok(origin) = clone::origin(config) else {
        return Finding::skipped("base branch", "not looked at: it needs the clone");
    };
    if clone::belongs(config, &origin, &facts.slug).is_err() {
        return Finding::skipped("base branch", "not looked at: `origin` leads elsewhere");
    }
    match git.fetch_base(&base).await {
        Ok(sha) => Finding::good(
            "base branch",
            format!("`{base}` at {}, fetched", sha.short()),
        ),
        Err(error) => Finding::bad(
            "base branch",
            error.to_string(),
            format!(
                "try it yourself: git -C {} fetch origin {base}",
                config.path.display()
            ),
        ),
    }
}
