//! What a story asks about the world.

use ghswarm::model::body::{self, StateBlock};
use ghswarm::model::comment::parse_checkpoint;
use ghswarm::model::state::{BlockedReason, IssueState};
use ghswarm::sim::github::model::{Comment, Issue, Pr, PrStanding};

use super::World;

impl World {
    /// The issue as it is now.
    pub(crate) fn issue(&self, issue: u64) -> Issue {
        self.repo.issue(issue).unwrap()
    }

    /// The state in the body.
    pub(crate) fn state(&self, issue: u64) -> IssueState {
        match body::parse(&self.issue(issue).body).state {
            StateBlock::Found { state, .. } => *state,
            other
            @ (StateBlock::Absent | StateBlock::Newer { .. } | StateBlock::Invalid { .. }) => {
                panic!("#{issue} has no state: {other:?}")
            }
        }
    }

    /// The state in the newest checkpoint.
    pub(crate) fn mirrored(&self, issue: u64) -> IssueState {
        let comments = self.issue(issue).comments;
        let found = comments
            .iter()
            .rev()
            .find_map(|c| parse_checkpoint(&c.body, "claude-lock"));
        found
            .and_then(|checkpoint| checkpoint.state)
            .expect("a checkpoint with a state")
    }

    /// The state in the newest checkpoint of the loop's, whatever was claimed by hand since.
    pub(crate) fn mirrored_by_loop(&self, issue: u64) -> IssueState {
        let comments = self.issue(issue).comments;
        let mut checkpoints = comments
            .iter()
            .filter_map(|c| parse_checkpoint(&c.body, "claude-lock"));
        let found = checkpoints.find(|checkpoint| checkpoint.state.is_some());
        found.and_then(|checkpoint| checkpoint.state).unwrap()
    }

    /// Why it is blocked, in body and checkpoint's words.
    pub(crate) fn blocked(&self, issue: u64) -> Option<BlockedReason> {
        self.state(issue).blocked_reason
    }

    /// The status labels.
    pub(crate) fn status(&self, issue: u64) -> Vec<String> {
        let labels = self.issue(issue).labels;
        labels
            .into_iter()
            .filter(|label| label.starts_with("status: "))
            .collect()
    }

    /// The message of the commit that the base is at.
    pub(crate) fn message_of_main(&self) -> String {
        let tip = self.repo.tip().unwrap().unwrap();
        self.repo.message(&tip).unwrap().trim_end().to_owned()
    }

    /// Pull requests from the issue's branch in this repository, oldest first.
    pub(crate) fn prs(&self, issue: u64) -> Vec<(u64, Pr)> {
        let branch = format!("issue-{issue}");
        let all = self.repo.prs().unwrap().into_iter();
        all.filter(|(_, pr)| pr.head_ref == branch && pr.head_repo == "ann/shop")
            .map(|(issue, pr)| (issue.number, pr))
            .collect()
    }

    /// The number of its newest pull request.
    pub(crate) fn pr(&self, issue: u64) -> u64 {
        self.prs(issue).last().expect("a pull request").0
    }

    /// The head of its newest pull request.
    pub(crate) fn pr_head(&self, issue: u64) -> String {
        self.prs(issue)
            .last()
            .expect("a pull request")
            .1
            .head_sha
            .clone()
    }

    /// Is its newest pull request merged?
    pub(crate) fn is_merged(&self, issue: u64) -> bool {
        let prs = self.prs(issue);
        prs.last()
            .is_some_and(|(_, pr)| matches!(pr.standing, PrStanding::Merged(..)))
    }

    /// Refs under the lease namespace.
    pub(crate) fn leases(&self) -> Vec<String> {
        let refs = self.repo.refs().unwrap().into_keys();
        refs.filter(|name| name.starts_with("refs/leases/"))
            .collect()
    }

    /// Tasks that are ticked.
    pub(crate) fn ticked(&self, issue: u64) -> Vec<String> {
        let tasks = body::parse(&self.issue(issue).body).tasks;
        tasks
            .into_iter()
            .filter(|task| task.done)
            .map(|task| task.text)
            .collect()
    }

    /// The story knows of a comment that contains this; answers its text.
    pub(crate) fn reads(&self, issue: u64, words: &str) -> String {
        let unread = self.unread_of(issue);
        let found = unread.iter().find(|comment| comment.body.contains(words));
        let Some(found) = found else {
            let bodies: Vec<_> = unread.iter().map(|comment| &comment.body).collect();
            panic!("no unread comment says `{words}`: {bodies:#?}");
        };
        self.read.lock().unwrap().insert(found.id);
        found.body.clone()
    }

    /// From now on nobody has to read anything.
    pub(crate) fn reads_everything(&self) {
        *self.careless.lock().unwrap() = true;
    }

    /// Comments nobody has read, checkpoints left out.
    pub(super) fn unread(&self) -> Vec<String> {
        if *self.careless.lock().unwrap() {
            return Vec::new();
        }
        let repo = self.repo.snapshot().unwrap();
        let numbers = repo.issues.keys().copied();
        let unread = numbers.flat_map(|issue| self.unread_of(issue));
        unread.map(|comment| comment.body).collect()
    }

    fn unread_of(&self, issue: u64) -> Vec<Comment> {
        let read = self.read.lock().unwrap();
        let mut comments = self.issue(issue).comments;
        comments.retain(|comment| {
            !read.contains(&comment.id) && !comment.body.starts_with("<!-- ghswarm:run ")
        });
        comments
    }

    /// Merged, closed, said to be so everywhere, and nothing of it left lying about.
    pub(crate) fn expect_done(&self, issue: u64) {
        assert_eq!(self.leases(), Vec::<String>::new(), "leases are left");
        let heads = self.repo.heads().unwrap();
        assert!(
            !heads.contains_key(&format!("issue-{issue}")),
            "the branch is left"
        );
        assert_eq!(self.status(issue), ["status: completed"]);
        self.expect_over(issue);
    }

    /// Merged, closed and said to be so everywhere; what people put there at the end may be left.
    pub(crate) fn expect_over(&self, issue: u64) {
        let now = self.issue(issue);
        assert!(
            self.is_merged(issue),
            "its pull request is not merged\n{}",
            self.trace()
        );
        assert!(!now.open, "the issue is still open\n{}", self.trace());
        assert!(now.has_label("status: completed"));
        assert!(!now.has_label("agent-claimed"), "the claim label stands");
        for host in &self.hosts {
            assert!(!host.has_worktree(issue), "a worktree is left");
            assert!(!host.has_claim(issue), "a claim is left");
        }
        let state = self.state(issue);
        assert!(state.closed && !state.is_blocked());
        assert_eq!(
            self.mirrored(issue).rev,
            state.rev,
            "the checkpoint is behind"
        );
    }
}
