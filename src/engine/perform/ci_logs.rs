//! What an agent that is to mend red checks is given: the logs of the failed jobs, whole as files and the telling
//! part in the prompt, and of other systems what they say and where.

use std::collections::BTreeMap;

use crate::decide::Snapshot;
use crate::decide::effect::RunPlan;
use crate::decide::view::View;
use crate::model::checks::{Check, CheckOutcome};
use crate::model::ci_log::{excerpt, readable};
use crate::model::limits::{CI_EXCERPTS_BYTES, CI_LOGS_MAX};
use crate::model::run::RunKind;
use crate::ports::PortResult;
use crate::prompts::{CiCheck, CiFacts};

use super::super::settings::RepoEngine;

/// The red checks, and the files that belong to them.
pub(super) struct CiLogs {
    pub(super) facts: CiFacts,
    pub(super) files: BTreeMap<String, String>,
}

impl RepoEngine {
    /// The red checks that the state says the run is for; `None`: it is for something else.
    pub(super) async fn ci_logs(
        &self,
        seen: &Snapshot,
        plan: &RunPlan,
    ) -> PortResult<Option<CiLogs>> {
        let Ok(view) = View::of(seen, &self.policy, seen.look.at) else {
            return Ok(None);
        };
        let head = view.state.ci_fix_sha.as_ref();
        let pr = view.pr().filter(|pr| head == Some(&pr.checks.sha));
        let (RunKind::Implement, Some(pr)) = (plan.key.kind, pr) else {
            return Ok(None);
        };
        let red: Vec<&Check> = pr.checks.checks.iter().filter(|c| is_red(c)).collect();
        let logs = red.iter().filter(|check| check.job.is_some()).count();
        let room = CI_EXCERPTS_BYTES / logs.clamp(1, CI_LOGS_MAX);
        let mut found = CiLogs {
            facts: CiFacts {
                sha: pr.checks.sha.short().to_owned(),
                checks: Vec::new(),
            },
            files: BTreeMap::new(),
        };
        for check in red {
            let told = self.told(check, room, &mut found.files).await?;
            found.facts.checks.push(told);
        }
        Ok(Some(found))
    }

    async fn told(
        &self,
        check: &Check,
        room: usize,
        files: &mut BTreeMap<String, String>,
    ) -> PortResult<CiCheck> {
        let mut told = CiCheck {
            name: check.name.clone(),
            description: check.description.as_deref().map(|text| self.redact(text)),
            url: check.url.clone(),
            excerpt: None,
            file: None,
            no_log: None,
        };
        let Some(job) = check.job else {
            return Ok(told);
        };
        if files.len() >= CI_LOGS_MAX {
            told.no_log = Some(format!("only {CI_LOGS_MAX} logs are fetched"));
            return Ok(told);
        }
        match self.world.github.job_log(job.id).await {
            Ok(log) => {
                let log = self.redact(&readable(&log));
                let file = format!("ci-{}.log", files.len() + 1);
                told.excerpt = Some(excerpt(&log, room));
                told.file = Some(file.clone());
                files.insert(file, log);
            }
            // Gone, or not for this token: the agent can still run the tests.
            Err(error) if error.refusal().is_some() => {
                told.no_log = Some(self.redact(&error.to_string()));
            }
            Err(error) => return Err(error),
        }
        Ok(told)
    }
}

fn is_red(check: &Check) -> bool {
    matches!(
        check.outcome,
        CheckOutcome::Failure | CheckOutcome::TimedOut
    )
}
