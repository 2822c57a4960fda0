//! Makes a run's spec: the commands with the prompt in them, the environment, the clocks, the lease.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::decide::Snapshot;
use crate::decide::answers::since_question;
use crate::decide::effect::RunPlan;
use crate::decide::policy::command_name;
use crate::decide::spending::allowance;
use crate::decide::view::View;
use crate::model::agent::{AgentCommand, Session, provider_of};
use crate::model::agent_stream::{AgentErrorKind, AgentFormat};
use crate::model::body::{VerifyBlock, without_our_blocks};
use crate::model::comment::{strip_ansi, tail};
use crate::model::limits::{LOG_TAIL_BYTES, PROMPT_ARG_BYTES_MAX};
use crate::model::run::{Boxed, Order, RunCommand, RunFacts, RunKey, RunKind, RunSpec, RunStatus};
use crate::model::sandbox::{Sandbox, SandboxOwner, place_of};
use crate::ports::{PortError, PortResult, Refusal};
use crate::prompts::{self, CiFacts, PromptFacts};

use super::super::settings::{AgentSettings, GithubAccess, RepoEngine};
use super::ci_logs::CiLogs;
use super::stale;

/// The supervisor sets this variable to the path of the prompt's file.
const PROMPT_FILE: &str = "\"$GHSWARM_PROMPT_FILE\"";

/// Stands where a program is told to go on with a session; nothing for a fresh one.
const RESUME: &str = "{resume}";

/// Variables that would give an agent the operator's voice on GitHub.
const GITHUB_TOKENS: &[&str] = &[
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_PAT",
];

impl RepoEngine {
    pub(super) fn run_spec(
        &self,
        seen: &Snapshot,
        plan: &RunPlan,
        ci: Option<CiLogs>,
    ) -> PortResult<RunSpec> {
        let view = View::of(seen, &self.policy, seen.look.at)
            .map_err(|_| stale("start the run", "the issue is gone"))?;
        let kind = plan.key.kind;
        let (ci, files) = ci.map(|ci| (ci.facts, ci.files)).unzip();
        let prompt = match self.agent(kind) {
            Some(_) => Some(self.prompt(&view, plan, ci)?),
            None => None,
        };
        let agent = self.agent(kind);
        Ok(RunSpec {
            key: plan.key.clone(),
            worktree: self.worktree_path(plan.key.issue),
            commands: self.commands(&view, kind, prompt.as_deref())?,
            order: if agent.is_some() {
                Order::Fallback
            } else {
                Order::Sequence
            },
            prompt,
            files: files.unwrap_or_default(),
            tasks: plan.tasks.clone(),
            fresh_files: [&self.settings.question_file, &self.settings.review_file]
                .iter()
                .map(PathBuf::from)
                .collect(),
            agent_box: self.agent_box(&plan.key),
            env: self.run_env(plan, agent),
            env_remove: env_remove(agent),
            env_clear: agent.and_then(|agent| agent.env_clear.clone()),
            clocks: agent.map_or(self.settings.step_clocks, |agent| agent.clocks),
            allowance: agent.map(|_| allowance(&view)).unwrap_or_default(),
            lease: Some(self.run_lease(seen)?),
            head: view.worktree().map(|tree| tree.head.clone()),
        })
    }

    fn commands(
        &self,
        view: &View<'_>,
        kind: RunKind,
        prompt: Option<&str>,
    ) -> PortResult<Vec<RunCommand>> {
        match kind {
            RunKind::Implement | RunKind::Simplify | RunKind::Review => {
                let Some(agent) = self.agent(kind) else {
                    return Ok(Vec::new());
                };
                let prompt = prompt.unwrap_or_default();
                let sandbox = self.settings.agent_sandbox.as_ref();
                let boxed = sandbox.map(|sandbox| self.boxed(view, sandbox.clone()));
                let mut commands = Vec::new();
                for text in &agent.commands {
                    commands.extend(self.agent_commands(view, kind, (agent, text, prompt))?);
                }
                for command in &mut commands {
                    command.sandbox.clone_from(&boxed);
                }
                Ok(commands)
            }
            RunKind::Setup => {
                let setup = self.settings.setup.clone().unwrap_or_default();
                Ok(vec![self.step(view, setup, None)])
            }
            RunKind::Verify => Ok(match &view.body.verify {
                VerifyBlock::Steps(steps) => steps
                    .iter()
                    .map(|step| self.step(view, step.command.clone(), step.path.as_deref()))
                    .collect(),
                VerifyBlock::Missing | VerifyBlock::Invalid { .. } => Vec::new(),
            }),
        }
    }

    /// A command of an agent's chain; two where a session is resumed that may be gone.
    fn agent_commands(
        &self,
        view: &View<'_>,
        kind: RunKind,
        (agent, text, prompt): (&AgentSettings, &str, &str),
    ) -> PortResult<Vec<RunCommand>> {
        let name = command_name(text);
        let provider = provider_of(text, &name);
        let fresh = AgentCommand {
            format: format_of(agent.format, &name),
            transient: self.settings.transient_patterns.clone(),
            paused_until: self.limited_until(&provider),
            provider,
            ..AgentCommand::default()
        };
        // A reviewer is to see the work with fresh eyes.
        let wanted = kind == RunKind::Implement && text.contains(RESUME);
        let session = wanted.then(|| session_of(view, &fresh.provider)).flatten();
        let Some(session) = session else {
            return Ok(vec![agent_command(text, prompt, fresh)?]);
        };
        let resumed = AgentCommand {
            resumes: Some(session),
            ..fresh.clone()
        };
        let stands_in = AgentCommand {
            stands_in: true,
            ..fresh
        };
        Ok(vec![
            agent_command(text, prompt, resumed)?,
            agent_command(text, prompt, stands_in)?,
        ])
    }

    /// A step where the configuration says that steps of this path run.
    fn step(&self, view: &View<'_>, shell: String, path: Option<&str>) -> RunCommand {
        let place = place_of(&self.settings.places, path);
        let sandbox = place.and_then(|place| place.sandbox.clone());
        RunCommand {
            label: shell.clone(),
            shell,
            dir: path.map(PathBuf::from).unwrap_or_default(),
            prompt_on_stdin: false,
            clocks: place.map(|place| place.clocks),
            config: place.map(|place| place.config.clone()),
            sandbox: sandbox.map(|sandbox| self.boxed(view, sandbox)),
            agent: None,
        }
    }

    fn boxed(&self, view: &View<'_>, sandbox: Sandbox) -> Box<Boxed> {
        Box::new(Boxed {
            sandbox,
            owner: SandboxOwner {
                instance: self.settings.owner.clone(),
                repository: view.seen.repo.id.0,
            },
        })
    }

    /// Where an agent's run has its box, if agents run in containers.
    fn agent_box(&self, key: &RunKey) -> Option<PathBuf> {
        let boxed = key.kind.is_agent() && self.settings.agent_sandbox.is_some();
        self.world.runs.box_folder(key).filter(|_| boxed)
    }

    fn run_env(&self, plan: &RunPlan, agent: Option<&AgentSettings>) -> BTreeMap<String, String> {
        let mut env = agent.map(|agent| agent.env.clone()).unwrap_or_default();
        env.insert("AGENT_ID".to_owned(), self.settings.owner.clone());
        env.insert(
            "ISSUE_LEASE_NAMESPACE".to_owned(),
            self.policy.namespace.clone(),
        );
        env.insert("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned());
        env.insert("GHSWARM_ISSUE".to_owned(), plan.key.issue.to_string());
        if agent.is_none_or(|agent| agent.github == GithubAccess::None) {
            // Pushes of the agent go nowhere, and `gh` finds no login.
            env.insert("GIT_CONFIG_COUNT".to_owned(), "1".to_owned());
            env.insert(
                "GIT_CONFIG_KEY_0".to_owned(),
                "remote.origin.pushurl".to_owned(),
            );
            env.insert(
                "GIT_CONFIG_VALUE_0".to_owned(),
                "disabled://ghswarm-pushes".to_owned(),
            );
            env.insert("GH_CONFIG_DIR".to_owned(), "/nonexistent".to_owned());
        }
        env
    }

    fn prompt(&self, view: &View<'_>, plan: &RunPlan, ci: Option<CiFacts>) -> PortResult<String> {
        // The newest verdict counts, also when an agent died in between: nothing has refuted it.
        let failed_verify = last(view, |run| run.key.kind == RunKind::Verify).filter(|r| failed(r));
        let failed_agent = last(view, |run| run.key.kind == plan.key.kind && failed(run))
            .filter(|run| is_recent(view, run, plan));
        let review = last(view, |run| run.key.kind == RunKind::Review)
            .filter(|run| is_recent(view, run, plan))
            .and_then(|run| run.review.as_deref().map(|text| self.redact(text)));
        let facts = PromptFacts {
            number: view.issue.number.0,
            title: view.issue.title.clone(),
            text: without_our_blocks(&view.issue.body),
            tasks: plan.tasks.clone(),
            verify: verify_lines(view),
            base: view.base().map(ToString::to_string).unwrap_or_default(),
            branch: view.branch.to_string(),
            question_file: self.settings.question_file.clone(),
            review_file: self.settings.review_file.clone(),
            verify_log: failed_verify.map(|run| self.log_part(run)),
            review,
            question: view.state.pending_questions.clone(),
            answers: answers(view),
            last_failure: failed_agent.map(end_in_words),
            ci,
            fence: (self.world.random)(),
        };
        prompts::render(plan.key.kind, &facts)
            .map_err(|error| PortError::refused("render the prompt", Refusal::Local, error))
    }

    fn log_part(&self, run: &RunFacts) -> String {
        self.redact(tail(&strip_ansi(&run.tail), LOG_TAIL_BYTES))
    }
}

/// Puts the prompt into an agent's command.
fn agent_command(text: &str, prompt: &str, agent: AgentCommand) -> PortResult<RunCommand> {
    let label = command_name(text);
    let text = &text.replace(RESUME, &resumption(&label, agent.resumes.as_ref()));
    let quoted = if prompt.len() > PROMPT_ARG_BYTES_MAX {
        // One argument is limited to 128 KiB on Linux, so the command gets a pointer instead.
        "\"Read the file $GHSWARM_PROMPT_FILE and do what it says.\"".to_owned()
    } else {
        shlex::try_quote(prompt)
            .map_err(|error| {
                PortError::refused("quote the prompt", Refusal::Local, error.to_string())
            })?
            .into_owned()
    };
    let on_stdin = text.contains("{stdin}");
    let placed = text.contains("{prompt}") || text.contains("{prompt_file}") || on_stdin;
    let shell = if placed {
        text.replace("{prompt_file}", PROMPT_FILE)
            .replace("{stdin}", "")
            .replace("{prompt}", &quoted)
    } else {
        format!("{text} {quoted}")
    };
    Ok(RunCommand {
        label,
        shell,
        dir: PathBuf::new(),
        prompt_on_stdin: on_stdin,
        clocks: None,
        config: None,
        sandbox: None,
        agent: Some(Box::new(agent)),
    })
}

/// How a program is told to go on with a session.
fn resumption(program: &str, session: Option<&Session>) -> String {
    let Some(session) = session else {
        return String::new();
    };
    match program {
        // A command of its own there: `codex exec {resume} --json …`.
        "codex" => format!("resume {}", session.id),
        _ => format!("--resume {}", session.id),
    }
}

/// How a command's output reads: in a chain of several programs each speaks its own language.
fn format_of(said: AgentFormat, program: &str) -> AgentFormat {
    match (said, program) {
        (AgentFormat::Text, _) => AgentFormat::Text,
        (_, "claude") => AgentFormat::ClaudeJson,
        (_, "codex") => AgentFormat::CodexJson,
        (said, _) => said,
    }
}

/// The session of the last implementing run here, if that was this provider's and can go on.
fn session_of(view: &View<'_>, provider: &str) -> Option<Session> {
    let run = last(view, |run| run.key.kind == RunKind::Implement)?;
    let mut own = run.reports.iter().rev();
    let report = &own.find(|one| one.provider == provider)?.report;
    let kind = report.error.as_ref().map(|error| error.kind);
    let over = matches!(
        kind,
        Some(AgentErrorKind::PromptTooLong | AgentErrorKind::LostSession)
    );
    let id = report.session.clone().filter(|_| !over)?;
    // It comes from outside and goes into a shell's line.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!id.is_empty() && id.len() <= 64 && id.chars().all(plain)).then_some(Session {
        id,
        tokens: report.session_tokens,
    })
}

fn env_remove(agent: Option<&AgentSettings>) -> Vec<String> {
    let mut remove = agent
        .map(|agent| agent.env_remove.clone())
        .unwrap_or_default();
    if agent.is_none_or(|agent| agent.github == GithubAccess::None) {
        remove.extend(GITHUB_TOKENS.iter().map(|name| (*name).to_owned()));
    }
    remove
}

fn last<'a>(view: &View<'a>, wanted: impl Fn(&RunFacts) -> bool) -> Option<&'a RunFacts> {
    view.seen.local.runs.iter().rev().find(|run| wanted(run))
}

fn failed(run: &RunFacts) -> bool {
    matches!(&run.status, RunStatus::Ended(exit) if !exit.success())
}

/// Of the attempt just before: what failed earlier has been dealt with since.
fn is_recent(view: &View<'_>, run: &RunFacts, plan: &RunPlan) -> bool {
    let previous = view
        .seen
        .local
        .runs
        .iter()
        .map(|run| (run.key.epoch, run.key.seq))
        .filter(|attempt| *attempt < (plan.key.epoch, plan.key.seq))
        .max();
    previous == Some((run.key.epoch, run.key.seq))
}

fn end_in_words(run: &RunFacts) -> String {
    match &run.status {
        RunStatus::Ended(exit) => {
            let code = exit
                .code
                .map_or_else(String::new, |code| format!(", status {code}"));
            format!("`{}`: {}{code}", run.label, exit.end.words())
        }
        RunStatus::Reserved | RunStatus::Running { .. } => String::new(),
    }
}

fn verify_lines(view: &View<'_>) -> Vec<String> {
    let VerifyBlock::Steps(steps) = &view.body.verify else {
        return Vec::new();
    };
    steps
        .iter()
        .map(|step| match &step.path {
            Some(path) => format!("(cd {path} && {})", step.command),
            None => step.command.clone(),
        })
        .collect()
}

/// Trusted people's comments since the question.
fn answers(view: &View<'_>) -> Vec<String> {
    if view.state.pending_questions.is_none() {
        return Vec::new();
    }
    let answers = since_question(view);
    answers.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str, prompt: &str) -> PortResult<RunCommand> {
        agent_command(text, prompt, AgentCommand::default())
    }

    #[test]
    fn the_prompt_is_quoted_where_the_command_wants_it() {
        let command = command("claude -p {prompt} --model opus", "it's a test").unwrap();
        assert_eq!(command.shell, "claude -p \"it's a test\" --model opus");
        assert_eq!(command.label, "claude");
    }

    #[test]
    fn a_command_without_a_place_gets_the_prompt_at_its_end() {
        let command = command("agent --yes", "do $(it)").unwrap();
        assert_eq!(command.shell, "agent --yes 'do $(it)'");
    }

    #[test]
    fn a_prompt_on_standard_input_leaves_no_placeholder() {
        let command = command("codex exec {stdin}", "do it").unwrap();
        assert_eq!(command.shell, "codex exec ");
        assert!(command.prompt_on_stdin);
    }

    #[test]
    fn a_prompt_that_fits_no_argument_is_pointed_to() {
        let command = command("claude -p {prompt}", &"x".repeat(200_000)).unwrap();
        assert!(command.shell.len() < 200 && command.shell.contains("GHSWARM_PROMPT_FILE"));
    }

    #[test]
    fn a_session_is_resumed_in_the_words_of_its_program() {
        let resumed = |text: &str| {
            let session = Session {
                id: "0e91ca57".to_owned(),
                tokens: 0,
            };
            let agent = AgentCommand {
                resumes: Some(session),
                ..AgentCommand::default()
            };
            agent_command(text, "go", agent).unwrap().shell
        };
        assert_eq!(
            resumed("claude {resume} -p {prompt}"),
            "claude --resume 0e91ca57 -p go"
        );
        assert_eq!(
            resumed("codex exec {resume} --json {prompt}"),
            "codex exec resume 0e91ca57 --json go"
        );
        let fresh = command("codex exec {resume} --json {prompt}", "go").unwrap();
        assert_eq!(fresh.shell, "codex exec  --json go");
    }

    #[test]
    fn in_a_chain_each_program_speaks_its_own_language() {
        let json = AgentFormat::ClaudeJson;
        assert_eq!(format_of(json, "codex"), AgentFormat::CodexJson);
        assert_eq!(format_of(json, "wrapper"), AgentFormat::ClaudeJson);
        assert_eq!(format_of(AgentFormat::Text, "claude"), AgentFormat::Text);
    }
}
