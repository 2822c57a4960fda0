//! What a base branch asks of pull requests. Rulesets and branch protection are told in two places, both of
//! which everybody may read who may read the repository; only what they ask for is read, not who set it.

use serde::Deserialize;

use crate::model::ids::BranchName;
use crate::model::limits::PAGE_SIZE;
use crate::model::rules::{BaseRules, RequiredCheck};
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::address::segment;

/// What GitHub says, with 403, of the rulesets of a private repository on a plan without them.
const NO_SUCH_FEATURE: &str = "upgrade to github";

#[derive(Deserialize)]
struct WireRule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Option<WireParameters>,
}

#[derive(Deserialize)]
struct WireParameters {
    #[serde(default)]
    required_status_checks: Vec<WireRequired>,
}

#[derive(Deserialize)]
struct WireRequired {
    context: String,
    #[serde(default)]
    integration_id: Option<i64>,
}

#[derive(Deserialize)]
struct WireBranch {
    #[serde(default)]
    protection: Option<WireProtection>,
}

#[derive(Deserialize)]
struct WireProtection {
    #[serde(default)]
    required_status_checks: Option<WireProtected>,
}

/// `checks` is `contexts` with the Apps; servers of old have only the latter.
#[derive(Deserialize)]
struct WireProtected {
    #[serde(default)]
    enforcement_level: Option<String>,
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<WireProtectedCheck>,
}

#[derive(Deserialize)]
struct WireProtectedCheck {
    context: String,
    #[serde(default)]
    app_id: Option<i64>,
}

impl GitHubAdapter {
    pub(super) async fn rules_of(&self, base: &BranchName) -> PortResult<BaseRules> {
        let what = format!("read the rules of `{base}`");
        let mut required = self.by_rulesets(&what, base).await?;
        required.extend(self.by_protection(&what, base).await?);
        required.sort();
        required.dedup();
        Ok(BaseRules { required })
    }

    async fn by_rulesets(&self, what: &str, base: &BranchName) -> PortResult<Vec<RequiredCheck>> {
        let path = format!(
            "/repos/{}/rules/branches/{}?per_page={PAGE_SIZE}",
            self.slug,
            segment(base.as_str())
        );
        let rules = match self.pages_of::<WireRule>(&self.read(what, &path)).await {
            Ok(pages) => pages.map(|(rules, ..)| rules).unwrap_or_default(),
            Err(error) if has_no_rulesets(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(rules.into_iter().flat_map(required_by).collect())
    }

    async fn by_protection(&self, what: &str, base: &BranchName) -> PortResult<Vec<RequiredCheck>> {
        let path = format!("/repos/{}/branches/{}", self.slug, segment(base.as_str()));
        let branch: WireBranch = self.sender.json(&self.read(what, &path)).await?;
        let protected = branch
            .protection
            .and_then(|protection| protection.required_status_checks)
            .filter(|checks| checks.enforcement_level.as_deref() != Some("off"));
        let Some(protected) = protected else {
            return Ok(Vec::new());
        };
        let bound = protected.checks.iter().map(|check| RequiredCheck {
            name: check.context.clone(),
            app: app_of(check.app_id),
        });
        let known = |name: &String| protected.checks.iter().any(|check| check.context == *name);
        let unbound = protected
            .contexts
            .iter()
            .filter(|name| !known(name))
            .map(|name| RequiredCheck {
                name: name.clone(),
                app: None,
            });
        Ok(bound.chain(unbound).collect())
    }
}

/// A server that knows no rulesets, or a plan without them: then there are none. GitHub answers with an empty
/// list about a branch without rules, and even about one that does not exist.
fn has_no_rulesets(error: &PortError) -> bool {
    match error {
        PortError::Refused {
            refusal: Refusal::NotFound,
            ..
        } => true,
        PortError::Refused {
            refusal: Refusal::Forbidden,
            message,
            ..
        } => message.to_lowercase().contains(NO_SUCH_FEATURE),
        PortError::Refused { .. } | PortError::Unknown { .. } | PortError::Unavailable { .. } => {
            false
        }
    }
}

fn required_by(rule: WireRule) -> Vec<RequiredCheck> {
    if rule.kind != "required_status_checks" {
        return Vec::new();
    }
    let checks = rule.parameters.map(|all| all.required_status_checks);
    checks
        .unwrap_or_default()
        .into_iter()
        .map(|check| RequiredCheck {
            name: check.context,
            app: app_of(check.integration_id),
        })
        .collect()
}

/// `-1` stands for any App.
fn app_of(id: Option<i64>) -> Option<u64> {
    id.and_then(|id| u64::try_from(id).ok())
}
