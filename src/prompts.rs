//! The prompts of the agents, from the templates in `prompts/`. An unknown variable is an error.
//!
//! What others wrote enters between fences with a random word, named as data.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::model::run::RunKind;

const IMPLEMENT: &str = include_str!("../prompts/implement.md");
const FIX_CI: &str = include_str!("../prompts/fix_ci.md");
const SIMPLIFY: &str = include_str!("../prompts/simplify.md");
const REVIEW: &str = include_str!("../prompts/review.md");
const RULES: &str = include_str!("../prompts/rules.md");

/// Everything a prompt may say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptFacts {
    /// The number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its text without our blocks.
    pub text: String,
    /// The open tasks.
    pub tasks: Vec<String>,
    /// The verify commands, each with its directory.
    pub verify: Vec<String>,
    /// The base branch.
    pub base: String,
    /// The branch of the work.
    pub branch: String,
    /// Name of the question file.
    pub question_file: String,
    /// Name of the review file.
    pub review_file: String,
    /// The last part of the log of verify steps that failed.
    pub verify_log: Option<String>,
    /// What the reviewer wants changed.
    pub review: Option<String>,
    /// The question that was asked.
    pub question: Option<String>,
    /// Trusted people's comments since then.
    pub answers: Vec<String>,
    /// How the last try failed, where it was not the verify steps.
    pub last_failure: Option<String>,
    /// The red checks that are to be mended, where that is what the run is for.
    pub ci: Option<CiFacts>,
    /// A random word for the fences around others' text.
    pub fence: String,
}

/// Checks that are red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CiFacts {
    /// At which commit.
    pub sha: String,
    /// Which.
    pub checks: Vec<CiCheck>,
}

/// A red check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CiCheck {
    /// Its name.
    pub name: String,
    /// What the other system says of it.
    pub description: Option<String>,
    /// Where to read more.
    pub url: Option<String>,
    /// The part of its log that tells most.
    pub excerpt: Option<String>,
    /// The file with the whole log, beside the prompt's.
    pub file: Option<String>,
    /// Why there is no log.
    pub no_log: Option<String>,
}

/// The prompt of an agent run.
pub fn render(kind: RunKind, facts: &PromptFacts) -> Result<String, String> {
    let template = match kind {
        RunKind::Implement if facts.ci.is_some() => FIX_CI,
        RunKind::Implement | RunKind::Setup | RunKind::Verify => IMPLEMENT,
        RunKind::Simplify => SIMPLIFY,
        RunKind::Review => REVIEW,
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.map_err(|error| error.to_string())?);
    let render = |name: &str, text: &str| {
        environment
            .render_named_str(name, text, context! { f => minijinja::value::Serde(facts) })
            .map_err(|error| format!("the prompt template `{name}`: {error:#}"))
    };
    let body = render(&format!("{}.md", kind.name()), template)?;
    let rules = render("rules.md", RULES)?;
    Ok(format!("{}\n\n{}\n", body.trim_end(), rules.trim_end()))
}

#[cfg(test)]
mod tests;
