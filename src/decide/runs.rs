//! What the agent phases share: reserve an attempt, start its run, collect what it left.

use crate::model::ids::Sha;
use crate::model::labels::Status;
use crate::model::phase::Phase;
use crate::model::run::{RunEnd, RunExit, RunFacts, RunKey, RunKind, RunStatus};
use crate::model::state::{BlockedReason, IssueState};

use super::effect::{Effect, RunPlan, WorktreePlan};
use super::steps::FailedSteps;
use super::view::View;
use super::{Decision, Why, diff, failures, sandboxes, spending, steps};

/// How far the phase's run is.
pub(super) enum Progress<'a> {
    /// Something has to be done or waited for first.
    Not(Decision),
    /// It succeeded; this is what it left.
    Succeeded(&'a RunFacts),
}

/// Carries the phase's agent run as far as it goes.
pub(super) fn drive<'a>(view: &View<'a>, kind: RunKind) -> Progress<'a> {
    let Some(key) = view.state.open_run.clone().filter(|key| key.kind == kind) else {
        return Progress::Not(reserve(view, kind));
    };
    let Some(run) = view.run(&key) else {
        return Progress::Not(start_or_reserve(view, &key));
    };
    match &run.status {
        RunStatus::Reserved => Progress::Not(start_or_reserve(view, &key)),
        RunStatus::Running { since, frozen } => Progress::Not(going(&key, *since, *frozen)),
        // Nothing of it ran: it is begun again, and costs nothing.
        RunStatus::Ended(exit) if sandboxes::never_began(exit) => {
            let wait = sandboxes::missing(view);
            Progress::Not(wait.unwrap_or_else(|| start_or_reserve(view, &key)))
        }
        // However it ended: what it did is in its box and nowhere else.
        RunStatus::Ended(_) if holds_work(view, run) => {
            let what = "bring the agent's work out of its box";
            Progress::Not(Decision::act(Effect::TakeBox(key), Why::Next { what }))
        }
        RunStatus::Ended(exit) if exit.success() => Progress::Succeeded(run),
        RunStatus::Ended(exit) => Progress::Not(failures::after(view, kind, run, exit)),
    }
}

/// Has the run a box, and is there a worktree to take its work to?
fn holds_work(view: &View<'_>, run: &RunFacts) -> bool {
    run.agent_box.is_some() && view.worktree().is_some()
}

pub(super) fn going(key: &RunKey, since: crate::model::ids::Timestamp, frozen: bool) -> Decision {
    Decision::wait(Why::RunGoing {
        run: key.clone(),
        since,
        frozen,
    })
}

/// Reserves an attempt: the counters go up before the run, so a crash can only over-count.
fn reserve(view: &View<'_>, kind: RunKind) -> Decision {
    reserve_for(view, kind, None, |_| Why::Next {
        what: "reserve a run",
    })
}

/// The same for a purpose, which `note` enters into the state. The run begins at `head`, if one is given: what
/// others pushed to the branch is in the worktree before an agent builds on it.
pub(super) fn reserve_for(
    view: &View<'_>,
    kind: RunKind,
    head: Option<&Sha>,
    note: impl FnOnce(&mut IssueState) -> Why,
) -> Decision {
    let decision = spending::exhausted(view)
        .or_else(|| prepare(view, kind))
        .or_else(|| head.and_then(|head| follow(view, head)));
    if let Some(decision) = decision {
        return decision;
    }
    let mut state = view.next_state();
    let why = note(&mut state);
    reserve_into(view, &mut state, kind);
    view.write(state, why)
}

/// Brings the worktree's branch to a head that was pushed from elsewhere.
fn follow(view: &View<'_>, head: &Sha) -> Option<Decision> {
    let tree = view.worktree()?;
    let lacks = tree.head != *head && view.seen.remote_contained == Some(false);
    lacks.then(|| {
        let branch = view.branch.clone();
        let sha = head.clone();
        Decision::act(Effect::FollowBranch { branch }, Why::HeadMoved { sha })
    })
}

/// A run without a folder: under its own claim it is started under the same number, under a new one
/// nobody knows whether the old holder started it.
fn start_or_reserve(view: &View<'_>, key: &RunKey) -> Decision {
    if view.proof().map(crate::model::lease::ClaimProof::epoch) != Some(key.epoch) {
        return reserve(view, key.kind);
    }
    if let Some(decision) = prepare(view, key.kind) {
        return decision;
    }
    start(view, key)
}

pub(super) fn start(view: &View<'_>, key: &RunKey) -> Decision {
    let refs = std::iter::once(view.issue_ref.clone())
        .chain(view.slot())
        .collect();
    let tasks = if key.kind == RunKind::Implement {
        view.open_tasks()
    } else {
        Vec::new()
    };
    let plan = RunPlan {
        key: key.clone(),
        tasks,
        refs,
    };
    let what = match key.kind {
        RunKind::Setup => "set the worktree up",
        RunKind::Implement => "start the agent",
        RunKind::Simplify => "start the simplifying agent",
        RunKind::Review => "start the reviewing agent",
        RunKind::Verify => "start the verify steps",
    };
    Decision::act(Effect::StartRun(plan), Why::Next { what })
}

/// Everything that must stand before money is spent: claim and slot, signals, worktree, set-up.
pub(super) fn prepare(view: &View<'_>, kind: RunKind) -> Option<Decision> {
    if let Some(decision) = sandboxes::missing(view).or_else(|| failures::paused(view, kind)) {
        return Some(decision);
    }
    if let Some(decision) = view.before_run() {
        return Some(decision);
    }
    if let Some(signals) = view.missing_signals(agent_name(view, kind)) {
        return Some(Decision::act(Effect::PlaceSignals(signals), Why::ShowClaim));
    }
    worktree(view).or_else(|| steps::set_up(view))
}

/// The worktree, made from the pushed branch, another holder's saved work, or the base.
pub(super) fn worktree(view: &View<'_>) -> Option<Decision> {
    if view.worktree().is_some() {
        return None;
    }
    let pushed = view
        .remote_head()
        .map(|_| crate::model::ids::RefName::of_branch(&view.branch));
    let saved = view.policy.wip_ref(view.issue.number);
    let saved = saved.filter(|name| view.seen.look.refs.contains_key(name));
    let plan = WorktreePlan {
        branch: view.branch.clone(),
        from: saved.or(pushed),
    };
    Some(Decision::act(
        Effect::MakeWorktree(plan),
        Why::Next {
            what: "make the worktree",
        },
    ))
}

/// Writes the reservation of the next run of `kind` into `state`. Steps have an attempt too, and cost
/// nothing.
pub(super) fn reserve_into(view: &View<'_>, state: &mut IssueState, kind: RunKind) {
    let Some(proof) = view.proof() else { return };
    // Numbers start again with each claim: the key carries the epoch.
    let same_claim = view.state.epoch == Some(proof.epoch());
    state.attempt = if same_claim {
        view.state.attempt.saturating_add(1)
    } else {
        1
    };
    state.wait_until = None;
    state.wait_reason = None;
    spending::reserve(view, state, kind);
    if kind.is_agent() && !replaces_nothing(view, kind) {
        state.total_agent_runs = state.total_agent_runs.saturating_add(1);
        state.last_agent = Some(agent_name(view, kind).to_owned());
    }
    state.next_action = match kind {
        RunKind::Implement => Phase::Implement,
        RunKind::Simplify => Phase::Simplify,
        RunKind::Review => Phase::AiReview,
        RunKind::Setup | RunKind::Verify => state.next_action,
    };
    state.open_run = Some(RunKey {
        issue: view.issue.number,
        epoch: proof.epoch(),
        seq: state.attempt,
        kind,
        again: 0,
    });
    state.busy_owner.clone_from(&view.seen.host);
    state.busy_since = Some(view.now);
}

/// Is this instead of a run that was counted and never began?
fn replaces_nothing(view: &View<'_>, kind: RunKind) -> bool {
    let open = view.state.open_run.as_ref();
    let run = open
        .filter(|key| key.kind == kind)
        .and_then(|key| view.run(key));
    run.is_some_and(
        |run| matches!(&run.status, RunStatus::Ended(exit) if sandboxes::never_began(exit)),
    )
}

/// Moves on to the next agent phase, its run reserved in the same write where the budget allows.
pub(super) fn advance_to(view: &View<'_>, mut state: IssueState, kind: RunKind) -> IssueState {
    state.open_run = None;
    // The phase begins with saying what is wrong with the commits, and pays nobody for reading them.
    let reads = matches!(kind, RunKind::Simplify | RunKind::Review);
    let refused = reads && diff::refuse(view).is_some();
    let paused = view.seen.local.paused.contains_key(&kind);
    if !refused && !paused && spending::stop(view, &state).is_none() {
        reserve_into(view, &mut state, kind);
    } else {
        state.next_action = match kind {
            RunKind::Simplify => Phase::Simplify,
            RunKind::Review => Phase::AiReview,
            RunKind::Implement | RunKind::Setup | RunKind::Verify => Phase::Implement,
        };
    }
    state
}

/// One more try in the phase, or blocked when there were enough.
pub(super) fn retry(
    view: &View<'_>,
    kind: RunKind,
    reason: BlockedReason,
    detail: &str,
) -> Decision {
    retry_from(view, view.next_state(), kind, (reason, detail))
}

/// The verify steps failed: the agent tries again, unless it has seen this very failure before.
pub(super) fn verify_failed(view: &View<'_>, failed: &FailedSteps) -> Decision {
    if let Some(decision) = same_failure(view, failed) {
        return decision;
    }
    let mut state = view.next_state();
    state.failed_verify = Some(failed.fingerprint.clone());
    let why = (BlockedReason::VerifyFailed, failed.detail.as_str());
    retry_from(view, state, RunKind::Implement, why)
}

/// Blocks if the verify steps failed like this the last time, too. Each failure leads to an agent's attempt, so
/// one was in between: a further one would be paid for nothing.
pub(super) fn same_failure(view: &View<'_>, failed: &FailedSteps) -> Option<Decision> {
    let same = view.state.failed_verify.as_ref() == Some(&failed.fingerprint);
    same.then(|| {
        let mut state = view.next_state();
        state.iteration = view.state.iteration.saturating_add(1);
        let detail = format!(
            "{}; the same failure came twice, and the agent's attempt in between did not change it",
            failed.detail
        );
        let reason = BlockedReason::VerifyFailed;
        view.mark_blocked(&mut state, reason, detail);
        view.write(state, Why::Blocking { reason })
    })
}

fn retry_from(
    view: &View<'_>,
    mut state: IssueState,
    kind: RunKind,
    (reason, detail): (BlockedReason, &str),
) -> Decision {
    // A run that was stopped on a person's order did not fail.
    let stopped = view.run_end() == RunEnd::Stopped;
    let tries = view.state.iteration.saturating_add(u32::from(!stopped));
    state.iteration = tries;
    let alike = !stopped && failures::repeats(view, &mut state, (reason, detail));
    if tries > view.policy.max_retries || alike {
        let again = if alike {
            ", the last two of which failed alike"
        } else {
            ""
        };
        let detail = format!("after {tries} tries{again}: {detail}");
        view.mark_blocked(&mut state, reason, detail);
        return view.write(state, Why::Blocking { reason });
    }
    if let Some(decision) = view.before_run() {
        return decision;
    }
    if let Some(decision) = spending::exhausted(view) {
        return decision;
    }
    let end = view.run_end();
    let state = advance_to(view, state, kind);
    // The agent did its part: it is the verify steps that failed.
    let failed = if reason == BlockedReason::VerifyFailed {
        RunKind::Verify
    } else {
        kind
    };
    let why = Why::RunEnded {
        kind: failed,
        ok: false,
        end,
    };
    view.write(state, why)
}

/// What every successful agent run goes through before its result is used.
pub(super) fn harvest(view: &View<'_>, run: &RunFacts) -> Option<Decision> {
    if let Some(question) = run.question.as_ref().filter(|text| !text.trim().is_empty()) {
        return Some(ask(view, question));
    }
    let Some(tree) = view.worktree() else {
        return Some(worktree_gone(view, run));
    };
    // Verify steps may leave files of their own; what is dirty after them is not the agent's work.
    let verified = view.run(&steps::verify_key(&run.key)).is_some();
    if tree.dirty && !verified {
        let what = Why::Next {
            what: "commit what the agent left uncommitted",
        };
        return Some(Decision::act(
            Effect::CommitWork { kind: run.key.kind },
            what,
        ));
    }
    save(view)
}

/// It is made anew once, and no more after a second failure: an agent that deletes the ground it stands on
/// does so every time.
fn worktree_gone(view: &View<'_>, run: &RunFacts) -> Decision {
    let reason = BlockedReason::WorktreeFailed;
    if view.state.iteration == 0 {
        return retry(view, run.key.kind, reason, "the worktree is gone");
    }
    let mut state = view.next_state();
    state.iteration = view.state.iteration.saturating_add(1);
    let detail = format!(
        "the worktree is gone after the run of `{}`, which was not the first try; see what the agent \
         does with its working directory: `ghswarm logs {}`",
        run.label, view.issue.number
    );
    view.mark_blocked(&mut state, reason, detail);
    view.write(state, Why::Blocking { reason })
}

/// The work is pushed to where the next holder finds it, so that it is never paid for twice. What must
/// not be pushed stays here, and `create_pr` says so.
fn save(view: &View<'_>) -> Option<Decision> {
    let tree = view.worktree()?;
    let to = view.policy.wip_ref(view.issue.number)?;
    let expected = view.seen.look.refs.get(&to).cloned();
    if !tree.differs_from_base || expected.as_ref() == Some(&tree.head) {
        return None;
    }
    if diff::holds_what_stays_here(view) {
        return None;
    }
    let effect = Effect::SaveWork {
        to,
        sha: tree.head.clone(),
        expected,
    };
    Some(view.under_claim(
        effect,
        Why::Next {
            what: "save the work",
        },
    ))
}

/// The agent asked: nothing goes on before a person answers.
fn ask(view: &View<'_>, question: &str) -> Decision {
    let mut state = view.next_state();
    state.asked_in = Some(view.state.next_action);
    state.next_action = Phase::WaitForClarification;
    state.pending_questions = Some(crate::model::comment::head(question, 4096).to_owned());
    view.mark_blocked(
        &mut state,
        BlockedReason::Clarification,
        "the agent asks".to_owned(),
    );
    view.write(
        state,
        Why::Blocking {
            reason: BlockedReason::Clarification,
        },
    )
}

/// How a run failed, for people: the end, and the last lines it printed.
pub(super) fn failure_text(run: &RunFacts, exit: &RunExit) -> String {
    use crate::model::run::RunEnd;
    let how = match (exit.end, exit.code, exit.signal) {
        // What `sh` says of a program that it does not find.
        (RunEnd::Exited, Some(127), _) if run.key.kind.is_agent() => format!(
            "exited with status 127: is the program there? See `agents.{}.command`",
            run.key.kind
        ),
        (RunEnd::Exited, Some(code), _) => match complaint(run) {
            Some(words) => format!("exited with status {code}: {words}"),
            None => format!("exited with status {code}"),
        },
        (RunEnd::Exited, None, Some(signal)) => format!("was killed by signal {signal}"),
        (RunEnd::Exited, None, None) => "ended without a status".to_owned(),
        (RunEnd::StartupTimeout, ..) => "printed nothing after its start".to_owned(),
        (RunEnd::IdleTimeout, ..) => "fell silent".to_owned(),
        (RunEnd::TotalTimeout, ..) => "took too long".to_owned(),
        (RunEnd::NotStarted, ..) => "could not be started".to_owned(),
        (RunEnd::OutOfMemory, ..) => "ran out of memory".to_owned(),
        (RunEnd::SandboxUnavailable, ..) => "had no container to run in".to_owned(),
        (RunEnd::OverBudget, ..) => "was ended since its budget was used up".to_owned(),
        (RunEnd::LeaseLost, ..) => "was ended since the lease was lost".to_owned(),
        (RunEnd::Stopped, ..) => "was stopped".to_owned(),
        (RunEnd::SupervisorDied, ..) => "was cut off (its supervisor died)".to_owned(),
    };
    let told = matches!(exit.end, RunEnd::OutOfMemory | RunEnd::TotalTimeout);
    match exit.note.as_ref().filter(|_| told) {
        Some(note) => format!("{} `{}` {how}: {note}", run.key.kind, run.label),
        None => format!("{} `{}` {how}", run.key.kind, run.label),
    }
}

/// What the last of its agents says of its own failure, on one line.
fn complaint(run: &RunFacts) -> Option<&str> {
    let error = run.reports.last()?.report.error.as_ref()?;
    error.words.lines().next().filter(|line| !line.is_empty())
}

/// The agent whose name the busy label carries.
fn agent_name<'a>(view: &'a View<'_>, kind: RunKind) -> &'a str {
    let names = &view.policy.agent_names;
    match kind {
        RunKind::Simplify => &names.simplify,
        RunKind::Review => &names.review,
        RunKind::Implement | RunKind::Setup | RunKind::Verify => &names.implement,
    }
}

impl View<'_> {
    /// How the open run ended, for reasons.
    pub(super) fn run_end(&self) -> crate::model::run::RunEnd {
        let ended = self.state.open_run.as_ref().and_then(|key| self.run(key));
        match ended.map(|run| &run.status) {
            Some(RunStatus::Ended(exit)) => exit.end,
            Some(RunStatus::Reserved | RunStatus::Running { .. }) | None => {
                crate::model::run::RunEnd::Exited
            }
        }
    }

    /// The busy label of a run of this kind.
    pub fn busy_status(&self, kind: RunKind) -> Status {
        Status::Busy(agent_name(self, kind).to_owned())
    }
}
