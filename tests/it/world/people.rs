//! What people and CI do, as verbs. Each takes a second, as each effect of an engine does.

use std::time::Duration;

use ghswarm::model::pr::MergeMethod;
use ghswarm::ports::git::Git as _;
use ghswarm::sim::github::model::PrStanding;

use super::{ANN, World};

/// A body with these tasks and one verify step.
pub(crate) fn body(tasks: &[&str]) -> String {
    let mut text = "Please.\n\n".to_owned();
    for task in tasks {
        text.push_str("- [ ] ");
        text.push_str(task);
        text.push('\n');
    }
    format!("{text}\n<!-- GHSWARM_VERIFY_START\nverify: cargo test\nGHSWARM_VERIFY_END -->\n")
}

impl World {
    fn tick(&self, what: &str) {
        self.clock.advance(Duration::from_secs(1));
        self.laws.tell(format!("         {what}"));
    }

    /// Ann opens an issue with one task and sets the idle label.
    pub(crate) fn opens_issue(&self, task: &str) -> u64 {
        self.opens(ANN, "Sell apples", &body(&[task]))
    }

    /// Somebody opens an issue; it gets the idle label.
    pub(crate) fn opens(&self, who: &str, title: &str, text: &str) -> u64 {
        self.opens_labelled(who, (title, text), &["status: idle"])
    }

    /// The same, with these labels.
    pub(crate) fn opens_labelled(
        &self,
        who: &str,
        (title, text): (&str, &str),
        labels: &[&str],
    ) -> u64 {
        self.tick(&format!("{who} opens an issue"));
        let issue = self.repo.open_issue(who, title, text, labels).unwrap();
        self.laws.person_wrote(issue);
        issue
    }

    /// Somebody changes the body.
    pub(crate) fn edits(
        &self,
        who: &str,
        issue: u64,
        change: impl FnOnce(&str) -> String,
    ) -> &Self {
        self.tick(&format!("{who} edits #{issue}"));
        let text = change(&self.repo.issue(issue).unwrap().body);
        self.repo.edit_body(who, issue, &text).unwrap();
        self.laws.person_wrote(issue);
        self
    }

    /// Somebody comments; answers the comment's id. What people say needs no reading.
    pub(crate) fn says(&self, who: &str, issue: u64, text: &str) -> u64 {
        self.tick(&format!("{who} says on #{issue}: {text}"));
        let id = self.repo.comment(who, issue, text).unwrap();
        self.read.lock().unwrap().insert(id);
        id
    }

    /// Somebody puts a label on.
    pub(crate) fn labels(&self, who: &str, issue: u64, label: &str) -> &Self {
        self.tick(&format!("{who} puts `{label}` on #{issue}"));
        self.repo.add_label(who, issue, label).unwrap();
        self
    }

    /// Somebody takes a label off.
    pub(crate) fn unlabels(&self, who: &str, issue: u64, label: &str) -> &Self {
        self.tick(&format!("{who} takes `{label}` off #{issue}"));
        self.repo.remove_label(who, issue, label).unwrap();
        let left = self.repo.issue(issue).unwrap().labels;
        if !left.iter().any(|label| label.starts_with("status: ")) {
            self.laws.person_unmanaged(issue);
        }
        self
    }

    /// Ann replaces the blocked label by the idle one: go on.
    pub(crate) fn resumes(&self, issue: u64) -> &Self {
        self.labels(ANN, issue, "status: idle");
        self.unlabels(ANN, issue, "status: blocked")
    }

    /// Somebody closes the issue.
    pub(crate) fn closes(&self, who: &str, issue: u64) -> &Self {
        self.tick(&format!("{who} closes #{issue}"));
        self.repo.close_issue(who, issue).unwrap();
        self
    }

    /// Somebody merges the issue's pull request in the browser.
    pub(crate) fn merges_by_hand(&self, who: &str, issue: u64) -> &Self {
        self.tick(&format!("{who} merges the pull request of #{issue}"));
        let pr = self.pr(issue);
        self.repo.merge_pr_as(who, pr, MergeMethod::Squash).unwrap();
        self
    }

    /// Somebody reviews the issue's pull request.
    pub(crate) fn reviews(&self, who: &str, issue: u64, state: &str) -> &Self {
        self.tick(&format!(
            "{who} reviews the pull request of #{issue}: {state}"
        ));
        self.repo.review(who, self.pr(issue), state, "").unwrap();
        self
    }

    /// Somebody pushes a file to a branch.
    pub(crate) fn pushes(&self, who: &str, branch: &str, file: &str) -> &Self {
        self.tick(&format!("{who} pushes to `{branch}`"));
        self.repo
            .push_commit(who, branch, &[(file, "by hand\n")])
            .unwrap();
        self
    }

    /// Ann takes a file out of the issue's worktree on the first machine, and commits.
    pub(crate) fn takes_out(&self, issue: u64, file: &str) -> &Self {
        self.tick(&format!(
            "{ANN} takes `{file}` out of the worktree of #{issue}"
        ));
        let tree = self.rules.settings("a").worktree_dir;
        let tree = tree.join(format!("issue-{issue}"));
        let home = &self.a().home;
        home.put_file(&tree, file, None).unwrap();
        self.wait(home.git().commit_all(&tree, "Take it out"))
            .unwrap();
        self
    }

    /// Ann makes one commit of all that is new in the issue's worktree on the first machine, as `git
    /// reset --soft` and `git commit` do.
    pub(crate) fn rewrites(&self, issue: u64, message: &str) -> &Self {
        self.tick(&format!("{ANN} rewrites the branch of #{issue}"));
        let tree = self.rules.settings("a").worktree_dir;
        let tree = tree.join(format!("issue-{issue}"));
        let base = self.repo.tip().unwrap().unwrap().parse().unwrap();
        self.a().home.squash(&tree, &base, message).unwrap();
        self
    }

    /// CI says this about the head of the issue's pull request.
    pub(crate) fn ci_says(&self, issue: u64, check: &str, conclusion: &str) -> &Self {
        let head = self.pr_head(issue);
        self.tick(&format!("ci: `{check}` {conclusion} at {head}"));
        self.repo
            .set_check(&head, check, "completed", Some(conclusion))
            .unwrap();
        self
    }

    /// CI fails at the head of the issue's pull request, and this is what its job printed.
    pub(crate) fn ci_fails(&self, issue: u64, check: &str, printed: &str) -> &Self {
        let head = self.pr_head(issue);
        self.tick(&format!("ci: `{check}` fails at {head}: {printed}"));
        let failed = ("completed", Some("failure"));
        self.repo
            .report_check(&head, check, failed, printed)
            .unwrap();
        self
    }

    /// CI has begun at the head of the issue's pull request.
    pub(crate) fn ci_begins(&self, issue: u64, check: &str) -> &Self {
        let head = self.pr_head(issue);
        self.tick(&format!("ci: `{check}` begins at {head}"));
        self.repo
            .set_check(&head, check, "in_progress", None)
            .unwrap();
        self
    }

    /// CI says this about the tip of the base branch.
    pub(crate) fn ci_says_of_main(&self, conclusion: &str) -> &Self {
        let tip = self.repo.tip().unwrap().unwrap();
        self.tick(&format!("ci: `test` {conclusion} at {tip}, the base's tip"));
        self.repo
            .set_check(&tip, "test", "completed", Some(conclusion))
            .unwrap();
        self
    }

    pub(super) fn everything_is_green(&self) {
        let mut shas: Vec<String> = self.repo.tip().unwrap().into_iter().collect();
        for (_, pr) in self.repo.prs().unwrap() {
            match pr.standing {
                PrStanding::Open => shas.push(pr.head_sha),
                PrStanding::Merged(commit, ..) => shas.push(commit),
                PrStanding::Closed => {}
            }
        }
        let repo = self.repo.snapshot().unwrap();
        // What was queued again has its second try now.
        for check in repo.checks.iter().filter(|check| check.again > 0) {
            if check.status == "queued" && shas.contains(&check.sha) {
                self.repo
                    .set_check(&check.sha, &check.name, "completed", Some("success"))
                    .unwrap();
            }
        }
        for sha in shas {
            if !repo.checks.iter().any(|check| check.sha == sha) {
                self.repo
                    .set_check(&sha, "test", "completed", Some("success"))
                    .unwrap();
            }
        }
    }
}
