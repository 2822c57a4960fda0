//! Values that are well formed and make no sense, alone or together. The places are those of the
//! values, wherever they were written. It does not look at the disk: `places` does.

use std::time::Duration;

use super::problem::{Fault, Problems};
use super::read::{Reader, read_labels, read_lease};
use super::sandbox::check_sandboxes;
use super::tree::{Node, Origin};
use super::values::parse_time;

/// Leases of people: a renewal may fail twice before the ttl runs out, and GitHub may be away.
const LEASE_TTL_MIN: Duration = Duration::from_secs(5 * 60);

/// What a lease may say at most (protocol.md, section 4).
const LEASE_TTL_MAX: Duration = Duration::from_secs(1440 * 60);

/// What `ghswarm.example.yaml` has where everybody must write something else.
pub(super) const TEMPLATE: [(&str, &str, &str); 2] = [
    (
        "repo",
        "OWNER/NAME",
        "write the repository that you work on, as `octo/demo`",
    ),
    (
        "path",
        "~/src/NAME",
        "write where your clone of it is, as `~/src/demo`",
    ),
];

/// Checks one repository.
pub(super) fn check_sense(node: &Node, problems: &mut Problems) {
    let all = Reader::of(node);
    check_template(all, problems);
    check_base(all, problems);
    check_lease_ttl(all.at("lease"), problems);
    check_labels(all, problems);
    check_target(all, problems);
    check_sandboxes(all, problems);
    check_budget(all, problems);
    for phase in ["implement", "review", "simplify"] {
        let agent = all.at("agents").at(phase);
        check_kill_grace(all, phase, problems);
        let idle = agent.get("idle_timeout");
        if agent.time("idle_timeout") > agent.time("timeout") && idle.origin != Origin::Default {
            let message = format!("`agents.{phase}.idle_timeout` is longer than its `timeout`");
            problems.add(
                idle.at,
                Fault::new(message).hint("make it shorter, or `timeout` longer"),
            );
        }
    }
}

/// The example is valid in itself; without this the first word would be GitHub's "not found".
fn check_template(all: Reader<'_>, problems: &mut Problems) {
    for (key, example, hint) in TEMPLATE {
        let node = all.get(key);
        // Paths have lost their `~` by now: what was written counts.
        if node.source.trim_matches(['"', '\'']) == example {
            let fault = Fault::new(format!("`{key}` is still the `{example}` of the example"));
            problems.add(node.at, fault.hint(hint));
        }
    }
}

/// A push to the branch of that issue would be a push to the base.
fn check_base(all: Reader<'_>, problems: &mut Problems) {
    let (base, prefix) = (all.get("base_branch"), all.text("branch_prefix"));
    let name = base.text().unwrap_or_default();
    let Some(rest) = name.strip_prefix(&prefix).filter(|_| !prefix.is_empty()) else {
        return;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return;
    }
    let issue = if base.variables.is_empty() {
        format!("issue {}", &rest[..digits])
    } else {
        "an issue".to_owned()
    };
    let message = format!(
        "`base_branch` would be taken for the branch of {issue}: it begins with `branch_prefix`"
    );
    let hint = "write another `branch_prefix`, such as `ghswarm/issue-`";
    problems.add(base.at, Fault::new(message).hint(hint));
}

/// Statuses come and go while an issue is worked on, and a held one is left alone.
fn check_target(all: Reader<'_>, problems: &mut Problems) {
    let names = read_labels(all);
    for label in all.at("target").get("labels").list().unwrap_or_default() {
        let Some(text) = label.text() else { continue };
        let text = [text.to_owned()];
        if !names.held(&text) && !names.claimed(&text) && names.statuses(&text).is_empty() {
            continue;
        }
        let message = format!("no issue with the label `{}` is worked on", label.shown());
        let fault = Fault::new(message).hint("remove it from `target.labels`");
        problems.add(label.at, fault);
    }
}

/// A budget that nothing is ever held against would be taken for one.
fn check_budget(all: Reader<'_>, problems: &mut Problems) {
    let phases = ["implement", "review", "simplify"];
    let agents = phases.iter().filter_map(|p| all.at("agents").there(p));
    if agents
        .into_iter()
        .any(|agent| agent.text("output") != "text")
    {
        return;
    }
    for unit in ["tokens", "usd"] {
        let of = all.at("budget").at(unit);
        for key in ["run", "issue", "day"]
            .iter()
            .filter(|key| of.number(key) > 0.0)
        {
            let message =
                format!("`budget.{unit}.{key}` has no effect: no agent says what it costs");
            let fault = Fault::new(message).hint(
                "let the agents print JSON (`claude -p --output-format stream-json --verbose`, \
                 `codex exec --json`) and set `output: claude-json` or `codex-json` for them",
            );
            problems.add(of.get(key).at, fault);
        }
    }
}

/// A run is frozen that long before its lease runs out; without any time left it would never run.
fn check_kill_grace(all: Reader<'_>, phase: &str, problems: &mut Problems) {
    let grace = all.at("agents").at(phase).get("kill_grace");
    let lease = read_lease(all.at("lease"));
    let needed = all.at("agents").at(phase).time("kill_grace") + lease.margins.grace;
    if needed < lease.ttl || grace.origin == Origin::Default {
        return;
    }
    let message =
        format!("`agents.{phase}.kill_grace` and the lease's margin leave nothing of `lease.ttl`");
    problems.add(
        grace.at,
        Fault::new(message).hint("make it shorter, or `lease.ttl` longer"),
    );
}

fn check_lease_ttl(lease: Reader<'_>, problems: &mut Problems) {
    let node = lease.get("ttl");
    let Some(ttl) = parse_time(node) else { return };
    let fault = if ttl < LEASE_TTL_MIN && lease.there("test_margins").is_none() {
        Fault::new("`lease.ttl` must be 5 minutes or longer")
            .hint("a shorter lease is lost whenever GitHub is slow; the default is `30m`")
    } else if ttl > LEASE_TTL_MAX {
        Fault::new("`lease.ttl` must be 24 hours or shorter")
            .hint("a dead machine would hold its issue for so long; the default is `30m`")
    } else {
        return;
    };
    problems.add(node.at, fault);
}

/// Labels that can't be told apart would make an issue idle and blocked at once.
fn check_labels(all: Reader<'_>, problems: &mut Problems) {
    let (labels, claims) = (all.at("labels"), all.at("claims"));
    let named = [
        ("labels.idle", labels.get("idle")),
        ("labels.blocked", labels.get("blocked")),
        ("labels.completed", labels.get("completed")),
        ("claims.label", claims.get("label")),
        ("claims.hold_label", claims.get("hold_label")),
    ];
    let lower = |node: &Node| node.scalar().unwrap_or_default().to_lowercase();
    let prefix = lower(labels.get("busy_prefix"));
    for (index, (name, node)) in named.iter().enumerate() {
        // Not a text: reported before.
        if lower(node).is_empty() {
            continue;
        }
        let same = named[..index]
            .iter()
            .find(|(_, other)| lower(other) == lower(node));
        let message = if let Some((other, _)) = same {
            format!("`{name}` and `{other}` are the same label")
        } else if !prefix.is_empty() && lower(node).starts_with(&prefix) {
            format!("`{name}` begins with `labels.busy_prefix`")
        } else {
            continue;
        };
        // The one that somebody wrote is the one to change.
        let written = same
            .map(|(_, other)| other.at)
            .filter(|_| node.origin == Origin::Default);
        let fault = Fault::new(message).hint("give each a name of its own");
        problems.add(written.unwrap_or(node.at), fault);
    }
}
