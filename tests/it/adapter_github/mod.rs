//! The GitHub adapter against a scripted server: what it makes of every kind of answer, and that it
//! never sends a write twice.

mod look;
mod network;
mod refs;
pub(crate) mod scripted;

use std::sync::Arc;
use std::time::Duration;

use ghswarm::adapters::github::{GitHubAdapter, GitHubSettings};
use ghswarm::model::ids::{ClaimId, RefName, Sha};
use ghswarm::model::lease::{ClaimProof, LeaseCommit};
use serde_json::Value;

use scripted::{Reply, Scripted, TestClock};

/// A server, an adapter that talks to it, and its clock.
struct Setup {
    server: Scripted,
    github: GitHubAdapter,
    clock: Arc<TestClock>,
}

async fn setup(replies: Vec<Reply>) -> Setup {
    let server = Scripted::start(replies).await;
    let clock = Arc::new(TestClock::default());
    let github = GitHubAdapter::new(settings(&server.url), clock.clone()).unwrap();
    Setup {
        server,
        github,
        clock,
    }
}

fn settings(url: &str) -> GitHubSettings {
    GitHubSettings {
        api_url: url.to_owned(),
        write_spacing: Duration::ZERO,
        ..GitHubSettings::new("o/r".parse().unwrap(), "t0ken".to_owned().into())
    }
}

fn ok(body: Value) -> Reply {
    Reply::Http(200, Vec::new(), body.to_string())
}

fn status(status: u16, body: Value) -> Reply {
    Reply::Http(status, Vec::new(), body.to_string())
}

fn with_headers(status: u16, headers: &[(&str, &str)], body: Value) -> Reply {
    let headers = headers
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    Reply::Http(status, headers, body.to_string())
}

fn sha(digit: char) -> Sha {
    Sha::new(digit.to_string().repeat(40)).unwrap()
}

fn proof() -> ClaimProof {
    let message = r#"{"v":1,"issue":1,"owner":"a","ttlMin":30,"claim":"c-1","epoch":1}"#;
    let commit = LeaseCommit {
        name: RefName::new("refs/leases/issue-1").unwrap(),
        oid: sha('1'),
        date: "2026-11-30T12:00:00Z".parse().unwrap(),
        message: message.to_owned(),
    };
    ClaimProof::verify(&commit, &ClaimId::new("c-1").unwrap()).unwrap()
}
