//! Leases by `git push`: the compare-and-swap for repositories where GitHub's API moves no refs.
//!
//! It has a private folder and a queue of its own, since a renewal must not wait behind a fetch that
//! takes minutes. What is pushed is a commit without parents on the empty tree: it needs nothing of
//! the clone, and nothing but itself travels.

use async_trait::async_trait;

use crate::model::ids::{Sha, Timestamp};
use crate::model::lease::RefSwap;
use crate::model::limits::GIT_REFS_TIMEOUT;
use crate::ports::PortResult;
use crate::ports::git::PushOutcome;
use crate::ports::ref_ways::RefPush;

use super::door::Door;
use super::remote::{rejection, whole_words, write_failure, write_failure_of};
use super::{CliGit, local};

/// Nobody's address: GitHub refuses a push that shows one which its owner keeps private.
const AUTHOR: &str = "ghswarm <ghswarm@localhost>";

impl CliGit {
    async fn write_object(
        &self,
        what: &str,
        door: &Door,
        (kind, text): (&str, &str),
    ) -> PortResult<Sha> {
        let call = self.behind(door, ["hash-object", "-w", "--stdin", "-t"]);
        let call = call.arg(kind).input(text);
        let written = self.runner.good(&call).await.map_err(|e| local(what, &e))?;
        Sha::new(written.text()).map_err(|e| local(what, &e))
    }
}

#[async_trait]
impl RefPush for CliGit {
    async fn make_commit(&self, message: &str, at: Timestamp) -> PortResult<Sha> {
        let what = "make a lease commit in the clone";
        let _turn = self.refs_serial.turn(self.common().await?).await?;
        let door = self.refs_door(what).await?;
        let tree = self.write_object(what, &door, ("tree", "")).await?;
        let stamp = format!("{AUTHOR} {} +0000", at.timestamp());
        let text = format!("tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\n{message}");
        self.write_object(what, &door, ("commit", &text)).await
    }

    async fn push_refs(&self, swaps: &[RefSwap]) -> PortResult<PushOutcome> {
        let names: Vec<String> = swaps.iter().map(|s| format!("`{}`", s.name)).collect();
        let what = format!("push {}", names.join(", "));
        let _turn = self.refs_serial.turn(self.common().await?).await?;
        let door = self.refs_door(&what).await?;
        let args = [
            "push",
            "--porcelain",
            "--no-verify",
            "--recurse-submodules=no",
            "--atomic",
        ];
        let mut call = self.through(&door, args).await?.within(GIT_REFS_TIMEOUT);
        for swap in swaps {
            // Empty: it must not exist.
            let expected = swap.before.as_ref().map_or("", Sha::as_str);
            call = call.arg(format!("--force-with-lease={}:{expected}", swap.name));
        }
        call = call.arg("--").arg(&self.settings.remote);
        for swap in swaps {
            let to = swap.after.as_ref().map_or("", Sha::as_str);
            call = call.arg(format!("{to}:{}", swap.name));
        }
        let output = self.runner.run(&call).await;
        let output = output.map_err(|e| write_failure(&what, &e))?;
        if output.code == Some(0) {
            return Ok(PushOutcome::Pushed);
        }
        rejection(&output).ok_or_else(|| {
            let words = whole_words(&output) + &door.advice();
            write_failure_of(&what, &output.stderr, words)
        })
    }
}
