//! What a merge depends on besides the pull request: the rules of the base branch, kept like the other facts
//! about a repository, and how the base's tip stands, asked anew each time. Both only where the decision hangs on
//! them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decide::view::View;
use crate::decide::{Decision, Snapshot, Why, decide};
use crate::model::checks::CommitChecks;
use crate::model::ids::{BranchName, Timestamp};
use crate::model::limits::REPO_FACTS_FOR;
use crate::model::phase::Phase;
use crate::model::rules::BaseRules;
use crate::ports::PortResult;

use super::settings::RepoEngine;

/// Where they are kept.
const NAME: &str = "base-rules";

/// Rules as they are kept between processes.
#[derive(Serialize, Deserialize)]
struct KeptRules {
    at: Timestamp,
    base: BranchName,
    rules: BaseRules,
}

/// How the base's tip stood a moment ago.
#[derive(Clone)]
pub(super) struct Tip {
    base: BranchName,
    /// Boot time when it was asked for.
    asked: Duration,
    checks: CommitChecks,
}

impl RepoEngine {
    /// Asks for what the decision lacks, and decides again.
    pub(super) async fn ask_about_base(
        &self,
        seen: &mut Snapshot,
        decision: Decision,
    ) -> PortResult<Decision> {
        let mut decision = decision;
        if matches!(decision.why(), Why::RulesUnknown) && seen.rules.is_none() {
            seen.rules = self.base_rules(seen.base.as_ref()).await?;
            decision = decide(seen, &self.policy, seen.look.at);
        }
        if matches!(decision.why(), Why::BaseUnknown) && seen.base_checks.is_none() {
            self.ask_about_tip(seen).await?;
            decision = decide(seen, &self.policy, seen.look.at);
        }
        Ok(decision)
    }

    /// Everything of it, for `explain`, which shows every rule of the gate.
    pub(super) async fn ask_all_about_base(&self, seen: &mut Snapshot) -> PortResult<()> {
        let waits = View::of(seen, &self.policy, seen.look.at)
            .is_ok_and(|view| view.phase() == Phase::WaitCi && view.pr().is_some());
        if waits && seen.rules.is_none() {
            seen.rules = self.base_rules(seen.base.as_ref()).await?;
        }
        if waits && seen.base_checks.is_none() {
            self.ask_about_tip(seen).await?;
        }
        Ok(())
    }

    /// What was just asked before a claim serves under it, too: a lease says nothing about the base.
    async fn ask_about_tip(&self, seen: &mut Snapshot) -> PortResult<()> {
        let Some(base) = &seen.base else {
            return Ok(());
        };
        let now = self.world.clock.boot_time();
        let fresh = self.tip().clone();
        let fresh = fresh.filter(|tip| tip.base == *base && now < tip.asked + self.fresh_for());
        let checks = if let Some(tip) = fresh {
            tip.checks
        } else {
            let checks = self.world.github.tip_checks(base).await?;
            *self.tip() = Some(Tip {
                base: base.clone(),
                asked: now,
                checks: checks.clone(),
            });
            checks
        };
        seen.base_checks = Some(checks);
        Ok(())
    }

    fn tip(&self) -> std::sync::MutexGuard<'_, Option<Tip>> {
        self.tip
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// We moved the base: its tip is another one.
    pub(super) fn forget_tip(&self) {
        *self.tip() = None;
    }

    async fn base_rules(&self, base: Option<&BranchName>) -> PortResult<Option<BaseRules>> {
        let Some(base) = base else { return Ok(None) };
        let now = self.world.clock.now();
        let young = |kept: &KeptRules| now >= kept.at && now < kept.at + REPO_FACTS_FOR;
        let kept = self.world.memory.load(NAME);
        let kept = kept.and_then(|text| serde_json::from_str::<KeptRules>(&text).ok());
        if let Some(kept) = kept.filter(|kept| kept.base == *base && young(kept)) {
            return Ok(Some(kept.rules));
        }
        let kept = KeptRules {
            at: now,
            base: base.clone(),
            rules: self.world.github.base_rules(base).await?,
        };
        if let Ok(text) = serde_json::to_string(&kept) {
            self.world.memory.save(NAME, &text);
        }
        Ok(Some(kept.rules))
    }

    /// GitHub refused a merge: what is kept may be outdated.
    pub(super) fn forget_rules(&self) {
        self.world.memory.save(NAME, "");
    }
}
