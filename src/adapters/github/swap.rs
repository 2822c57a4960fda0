//! Compare-and-swap of refs: GraphQL `updateRefs`, `git push` through the clone (`ways.rs`), or single
//! REST steps where a repository does not allow the others (protocol.md, section 4). Nothing is ever moved from where the caller did not read it.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::ids::{RefName, Sha, Timestamp};
use crate::model::lease::{RefSwap, SwapOutcome, Way};
use crate::ports::github::NewCommit;
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::address::ref_path;
use super::send::{Kind, Query};

/// A ref that a REST swap has moved, with what undoing needs.
struct Moved {
    name: RefName,
    before: Option<Sha>,
    now: Option<Sha>,
}

/// A commit as REST shows it.
#[derive(Debug, Deserialize)]
pub(super) struct RestCommit {
    pub sha: Sha,
    pub tree: RestSha,
    pub message: String,
    pub committer: RestDate,
}

#[derive(Debug, Deserialize)]
pub(super) struct RestSha {
    pub sha: Sha,
}

#[derive(Debug, Deserialize)]
pub(super) struct RestDate {
    pub date: Timestamp,
}

#[derive(Debug, Deserialize)]
struct RestRef {
    object: RestSha,
}

impl GitHubAdapter {
    /// Moves refs by the way that works here. Where GraphQL refuses without a reason that would hold for
    /// REST too, REST is tried, and kept if it works.
    pub(super) async fn swap(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        let swaps = real(swaps);
        let Some(what) = name_of(&swaps) else {
            return Ok(SwapOutcome::Swapped);
        };
        let way = self.way();
        let refused = match self.swap_by_way(way, &what, &swaps).await {
            Err(error) if way == Way::GraphQl && is_for_another_way(&error) => error,
            answer => return answer,
        };
        match self.swap_rest(&what, &swaps).await {
            Ok(outcome) => {
                if outcome == SwapOutcome::Swapped {
                    self.remember_rest();
                }
                Ok(outcome)
            }
            Err(error) => {
                tracing::debug!(%refused, %error, "neither way moved the ref");
                Err(error)
            }
        }
    }

    /// Moves refs by one way and no other.
    pub(super) async fn swap_by_way(
        &self,
        way: Way,
        what: &str,
        swaps: &[RefSwap],
    ) -> PortResult<SwapOutcome> {
        let answer = match way {
            Way::GraphQl => self.swap_graphql(what, swaps).await,
            Way::GitPush => self.swap_push(what, swaps).await,
            Way::Rest => return self.swap_rest(what, swaps).await,
        };
        match answer {
            Err(error) if error.refusal() == Some(Refusal::Stale) => Ok(SwapOutcome::Stale),
            // GitHub documents no word for a stale `updateRefs`, and a server's git has many for a
            // push that came second, so the refs themselves are asked.
            Err(error) if is_for_another_way(&error) => {
                if self.all_at_before(what, swaps).await? {
                    Err(error)
                } else {
                    Ok(SwapOutcome::Stale)
                }
            }
            Err(error) => Err(error),
            Ok(()) => Ok(SwapOutcome::Swapped),
        }
    }

    async fn swap_graphql(&self, what: &str, swaps: &[RefSwap]) -> PortResult<()> {
        let oid = |one: &Option<Sha>, other: &Option<Sha>| {
            let length = other.as_ref().map_or(40, |sha| sha.as_str().len());
            one.as_ref()
                .map_or_else(|| "0".repeat(length), |sha| sha.as_str().to_owned())
        };
        let updates: Vec<Value> = swaps
            .iter()
            .map(|swap| {
                json!({
                    "name": swap.name.as_str(),
                    "beforeOid": oid(&swap.before, &swap.after),
                    "afterOid": oid(&swap.after, &swap.before),
                    // A steal need not descend from what it replaces; `beforeOid` is the guard.
                    "force": true,
                })
            })
            .collect();
        let variables = json!({ "repository": self.node_id().await?, "updates": updates });
        let query = Query {
            what,
            kind: Kind::Write,
            operation: "SwapRefs",
            refs: &[],
            variables,
        };
        let (_, _): (Timestamp, Value) = self.sender.graphql(&query).await?;
        Ok(())
    }

    async fn all_at_before(&self, what: &str, swaps: &[RefSwap]) -> PortResult<bool> {
        let names: Vec<RefName> = swaps.iter().map(|swap| swap.name.clone()).collect();
        let (_, found) = self.leases_of(what, &names).await?;
        Ok(swaps
            .iter()
            .all(|swap| found.get(&swap.name).map(|c| &c.oid) == swap.before.as_ref()))
    }

    /// One after the other; if a later one is stale, those that moved are moved back.
    async fn swap_rest(&self, what: &str, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        let mut moved: Vec<Moved> = Vec::new();
        for swap in swaps {
            match self.move_one(what, swap).await {
                Ok(now) => moved.push(Moved {
                    name: swap.name.clone(),
                    before: swap.before.clone(),
                    now,
                }),
                Err(error) => {
                    for one in moved.iter().rev() {
                        self.undo(what, one).await;
                    }
                    return match error.refusal() {
                        Some(Refusal::Stale) => Ok(SwapOutcome::Stale),
                        _ => Err(restricted(error, &swap.name)),
                    };
                }
            }
        }
        Ok(SwapOutcome::Swapped)
    }

    /// Moves one ref; answers where it is now. A ref that was elsewhere is `Refusal::Stale`.
    async fn move_one(&self, what: &str, swap: &RefSwap) -> PortResult<Option<Sha>> {
        match (&swap.before, &swap.after) {
            (None, Some(after)) => self.create_ref(what, &swap.name, after).await?,
            (Some(_), Some(after)) => self.forward_ref(what, &swap.name, after).await?,
            (Some(before), None) if is_branch(&swap.name) => {
                self.delete_ref(what, &swap.name, before).await?;
                return Ok(None);
            }
            (Some(before), None) => {
                return self.bury(what, &swap.name, before).await.map(Some);
            }
            (None, None) => {}
        }
        Ok(swap.after.clone())
    }

    async fn create_ref(&self, what: &str, name: &RefName, to: &Sha) -> PortResult<()> {
        let path = format!("/repos/{}/git/refs", self.slug);
        let body = json!({ "ref": name.as_str(), "sha": to.as_str() });
        let call = self.write(what, Method::POST, &path, Some(body));
        self.sender
            .done(&call)
            .await
            .map_err(|error| match error.refusal() {
                Some(Refusal::Exists) => stale(error),
                _ => error,
            })
    }

    /// Moves a ref to a descendant of where it is: GitHub refuses if it is elsewhere by now.
    async fn forward_ref(&self, what: &str, name: &RefName, to: &Sha) -> PortResult<()> {
        let path = self.path_of(name, "refs");
        let body = json!({ "sha": to.as_str(), "force": false });
        let call = self.write(what, Method::PATCH, &path, Some(body));
        self.sender.done(&call).await.map_err(|error| {
            let words = error.to_string().to_lowercase();
            let moved = words.contains("fast forward")
                || words.contains("fast-forward")
                || words.contains("does not exist");
            match error.refusal() {
                Some(Refusal::Invalid) if moved => stale(error),
                Some(Refusal::NotFound) => stale(error),
                _ => error,
            }
        })
    }

    /// REST deletes without a condition, so there is a gap after the look; branches are ours alone.
    pub(super) async fn delete_ref(
        &self,
        what: &str,
        name: &RefName,
        before: &Sha,
    ) -> PortResult<()> {
        let found: PortResult<RestRef> = self
            .sender
            .json(&self.read(what, &self.path_of(name, "ref")))
            .await;
        let found = found.map_err(|error| match error.refusal() {
            Some(Refusal::NotFound) => stale(error),
            _ => error,
        })?;
        if found.object.sha != *before {
            return Err(PortError::refused(what, Refusal::Stale, "it was moved"));
        }
        let call = self.write(what, Method::DELETE, &self.path_of(name, "refs"), None);
        self.sender.done(&call).await
    }

    /// A tombstone on top of a lease: REST has no compare-and-delete.
    async fn bury(&self, what: &str, name: &RefName, before: &Sha) -> PortResult<Sha> {
        let tombstone =
            json!({ "v": 1, "issue": number_in(name), "owner": null, "ttlMin": 0 }).to_string();
        let tree = self.commit(what, before).await?.tree.sha;
        self.put_on_top(what, name, (before, tree, tombstone)).await
    }

    /// A child commit of where a ref is, and the ref moved to it.
    async fn put_on_top(
        &self,
        what: &str,
        name: &RefName,
        (parent, tree, message): (&Sha, Sha, String),
    ) -> PortResult<Sha> {
        let commit = NewCommit {
            message,
            tree,
            parents: vec![parent.clone()],
        };
        let (sha, _) = self.new_commit(&commit).await?;
        self.forward_ref(what, name, &sha).await?;
        Ok(sha)
    }

    /// Best effort: what cannot be moved back expires by itself.
    async fn undo(&self, what: &str, moved: &Moved) {
        let result = match (&moved.before, &moved.now) {
            (None, Some(now)) if is_branch(&moved.name) => {
                self.delete_ref(what, &moved.name, now).await
            }
            (None, Some(now)) => self.bury(what, &moved.name, now).await.map(|_| ()),
            (Some(before), Some(now)) => match self.commit(what, before).await {
                Ok(old) => self
                    .put_on_top(what, &moved.name, (now, old.tree.sha, old.message))
                    .await
                    .map(|_| ()),
                Err(error) => Err(error),
            },
            (Some(before), None) => self.create_ref(what, &moved.name, before).await,
            (None, None) => Ok(()),
        };
        if let Err(error) = result {
            tracing::warn!(%error, "`{}` could not be moved back", moved.name);
        }
    }

    async fn commit(&self, what: &str, sha: &Sha) -> PortResult<RestCommit> {
        let path = format!("/repos/{}/git/commits/{sha}", self.slug);
        self.sender.json(&self.read(what, &path)).await
    }

    pub(super) async fn new_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        let parents: Vec<&str> = commit.parents.iter().map(Sha::as_str).collect();
        let body = json!({
            "message": commit.message,
            "tree": commit.tree.as_str(),
            "parents": parents,
        });
        let path = format!("/repos/{}/git/commits", self.slug);
        let call = self.write("make a commit", Method::POST, &path, Some(body));
        let made: RestCommit = self.sender.json(&call).await?;
        Ok((made.sha, made.committer.date))
    }

    fn path_of(&self, name: &RefName, noun: &str) -> String {
        let short = name.as_str().strip_prefix("refs/").unwrap_or(name.as_str());
        format!("/repos/{}/git/{noun}/{}", self.slug, ref_path(short))
    }
}

/// The swaps that change something.
pub(super) fn real(swaps: &[RefSwap]) -> Vec<RefSwap> {
    swaps
        .iter()
        .filter(|swap| swap.before != swap.after)
        .cloned()
        .collect()
}

/// What is being done, by the first ref.
pub(super) fn name_of(swaps: &[RefSwap]) -> Option<String> {
    swaps.first().map(|swap| format!("move `{}`", swap.name))
}

/// A refusal that may be the way's alone.
fn is_for_another_way(error: &PortError) -> bool {
    match error.refusal() {
        Some(
            Refusal::Forbidden
            | Refusal::NotFound
            | Refusal::Exists
            | Refusal::Invalid
            | Refusal::NoContentsWrite
            | Refusal::RefsRestricted,
        ) => true,
        Some(
            Refusal::Stale
            | Refusal::Unauthorised
            | Refusal::RepositoryEmpty
            | Refusal::RepositoryArchived
            | Refusal::Local,
        )
        | None => false,
    }
}

fn is_branch(name: &RefName) -> bool {
    name.as_str().starts_with("refs/heads/")
}

/// The issue number at the end of a lease ref's name; slots have none.
fn number_in(name: &RefName) -> u64 {
    name.as_str()
        .rsplit_once("/issue-")
        .and_then(|(_, n)| n.parse().ok())
        .unwrap_or(0)
}

fn stale(error: PortError) -> PortError {
    match error {
        PortError::Refused { what, message, .. } => PortError::Refused {
            what,
            refusal: Refusal::Stale,
            message,
        },
        PortError::Unknown { .. } | PortError::Unavailable { .. } => error,
    }
}

/// Names the refusal of a ref outside branches and tags: rules and some servers forbid those.
pub(super) fn restricted(error: PortError, name: &RefName) -> PortError {
    let outside = !is_branch(name) && !name.as_str().starts_with("refs/tags/");
    match error {
        PortError::Refused {
            what,
            refusal: Refusal::Invalid,
            message,
        } if outside => PortError::Refused {
            what,
            refusal: Refusal::RefsRestricted,
            message,
        },
        PortError::Refused { .. } | PortError::Unknown { .. } | PortError::Unavailable { .. } => {
            error
        }
    }
}
