//! GitHub over HTTP: octocrab for the transport, our own small types for what comes back. Repeats
//! reads, never a write; decides nothing.

mod address;
mod answers;
mod backlog;
mod convert;
mod documents;
mod exchange;
mod facts;
mod jobs;
mod listing;
mod look;
mod overview;
mod rules;
mod send;
mod swap;
mod ways;
mod wire;
mod write_state;
mod writes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderValue, Method};
use octocrab::service::middleware::auth_header::AuthHeaderLayer;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::service::middleware::reqwest_connector::ReqwestConnector;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::model::checks::CommitChecks;
use crate::model::ids::{
    BranchName, CommentId, IssueNumber, Login, PrNumber, RefName, RepoSlug, Sha, Timestamp,
};
use crate::model::lease::{ClaimProof, LeaseCommit, RefSwap, SwapOutcome, Way};
use crate::model::limits::{HTTP_CONNECT_TIMEOUT, HTTP_TIMEOUT};
use crate::model::repo::{Permission, Repository};
use crate::model::rules::BaseRules;
use crate::ports::clock::Clock;
use crate::ports::github::{
    GitHub, IssueChange, ListCursor, Listed, Look, LookAt, MergePr, NewCommit, NewLabel, NewPr,
};
use crate::ports::ref_ways::RefPush;
use crate::ports::{PortError, PortResult, Refusal};

use address::Address;
use send::{Call, Kind, Sender};
use write_state::NodeIds;

/// A read is asked again so often; with the pauses between that outlasts a hiccup, not an outage.
pub const READ_RETRIES: u32 = 3;

/// What the adapter needs to know.
#[derive(Debug, Clone)]
pub struct GitHubSettings {
    /// Base address of the REST API.
    pub api_url: String,
    /// The repository.
    pub slug: RepoSlug,
    /// The token.
    pub token: SecretString,
    /// `User-Agent`, which GitHub insists on.
    pub user_agent: String,
    /// Least time between two writes.
    pub write_spacing: Duration,
    /// How often a read is asked again, with pauses that double from a second.
    pub read_retries: u32,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// A whole request.
    pub timeout: Duration,
}

impl GitHubSettings {
    /// github.com with the usual timeouts and a second between writes.
    pub fn new(slug: RepoSlug, token: SecretString) -> Self {
        Self {
            api_url: "https://api.github.com".to_owned(),
            slug,
            token,
            user_agent: concat!("ghswarm/", env!("CARGO_PKG_VERSION")).to_owned(),
            write_spacing: Duration::from_secs(1),
            read_retries: READ_RETRIES,
            connect_timeout: HTTP_CONNECT_TIMEOUT,
            timeout: HTTP_TIMEOUT,
        }
    }
}

/// One repository on GitHub, through the network.
pub struct GitHubAdapter {
    sender: Sender,
    /// Without a token, for addresses that GitHub hands out.
    bare: reqwest::Client,
    slug: RepoSlug,
    way: Mutex<Way>,
    push: OnceLock<Arc<dyn RefPush>>,
    node_id: OnceLock<String>,
    nodes: Mutex<NodeIds>,
}

impl GitHubAdapter {
    /// Makes the adapter; sends nothing. Must be called within a tokio runtime, which carries
    /// octocrab's worker.
    pub fn new(settings: GitHubSettings, clock: Arc<dyn Clock>) -> PortResult<Self> {
        let what = "connect to GitHub";
        let refused =
            |refusal, message: String| PortError::refused(what.to_owned(), refusal, message);
        let address = Address::parse(&settings.api_url)
            .map_err(|message| refused(Refusal::Local, message))?;
        let user_agent = HeaderValue::from_str(&settings.user_agent).map_err(|_| {
            refused(
                Refusal::Local,
                "the user agent has a character no header may carry".into(),
            )
        })?;
        let (http, bare) = connect(&settings, &address)?;
        let mut sender = Sender::new(http, clock, address);
        sender.user_agent = user_agent;
        sender.write_spacing = settings.write_spacing;
        sender.read_retries = settings.read_retries;
        sender.timeout = settings.timeout;
        Ok(Self {
            sender,
            bare,
            slug: settings.slug,
            way: Mutex::new(Way::GraphQl),
            push: OnceLock::new(),
            node_id: OnceLock::new(),
            nodes: Mutex::default(),
        })
    }

    /// Requests sent so far, repeated ones included.
    pub fn requests(&self) -> u64 {
        self.sender.requests()
    }

    /// How refs are swapped here.
    pub fn way(&self) -> Way {
        *self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it the clone's way to move refs, without which there is no `Way::GitPush`.
    pub fn push_refs_through(&self, push: Arc<dyn RefPush>) {
        self.push.get_or_init(|| push);
    }

    /// Starts with a way that is known from before.
    pub fn set_way(&self, way: Way) {
        *self.way.lock().unwrap_or_else(PoisonError::into_inner) = way;
    }

    fn remember_rest(&self) {
        self.set_way(Way::Rest);
    }

    /// Starts with the repository's node id, if it is known from before: one request less.
    pub fn remember_node_id(&self, id: &str) {
        self.node_id.get_or_init(|| id.to_owned());
    }

    async fn node_id(&self) -> PortResult<String> {
        if let Some(id) = self.node_id.get() {
            return Ok(id.clone());
        }
        Ok(self.facts().await?.node_id)
    }

    /// A read. `path` is the REST path without the server's prefix.
    fn read(&self, what: &str, path: &str) -> Call {
        self.call(what, Kind::Read, Method::GET, path)
    }

    fn write(&self, what: &str, method: Method, path: &str, body: Option<Value>) -> Call {
        Call {
            body,
            ..self.call(what, Kind::Write, method, path)
        }
    }

    fn call(&self, what: &str, kind: Kind, method: Method, path: &str) -> Call {
        let path = format!("{}{path}", self.sender.address.prefix);
        Call {
            what: what.to_owned(),
            kind,
            method,
            path,
            body: None,
            etag: None,
        }
    }
}

/// Builds the HTTP stack. octocrab's own `build` panics on a token with a line break and adds a
/// second `User-Agent`, so its layers are put together here.
fn connect(
    settings: &GitHubSettings,
    address: &Address,
) -> PortResult<(Octocrab, reqwest::Client)> {
    let what = "connect to GitHub";
    let token = settings.token.expose_secret();
    let bearer = HeaderValue::from_str(&format!("Bearer {token}")).ok();
    let usable = !token.is_empty() && !token.contains(char::is_whitespace);
    let Some(mut bearer) = bearer.filter(|_| usable) else {
        let message = "the token is empty or has a space, a line break or another character that \
                       no token has";
        return Err(PortError::refused(what, Refusal::Unauthorised, message));
    };
    bearer.set_sensitive(true);
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder()
        .connect_timeout(settings.connect_timeout)
        .timeout(settings.timeout)
        .redirect(reqwest::redirect::Policy::none());
    if address.loopback {
        // A proxy has another loopback than we.
        client = client.no_proxy();
    }
    let client = client
        .build()
        .map_err(|error| PortError::refused(what, Refusal::Local, error.to_string()))?;
    let origin = address.origin.clone();
    let built = OctocrabBuilder::new_empty()
        .with_service(ReqwestConnector::new(client.clone()))
        .with_layer(&BaseUriLayer::new(origin.clone()))
        .with_layer(&AuthHeaderLayer::new(Some(bearer), origin.clone(), origin))
        .with_auth(AuthState::None)
        .build();
    match built {
        // What adds the token are octocrab's layers.
        Ok(http) => Ok((http, client)),
        Err(never) => match never {},
    }
}

#[async_trait]
impl GitHub for GitHubAdapter {
    async fn repository(&self) -> PortResult<Repository> {
        self.facts().await
    }

    async fn list_issues(&self, cursor: &ListCursor) -> PortResult<Listed> {
        self.list(cursor).await
    }

    async fn look(&self, at: &LookAt) -> PortResult<Look> {
        self.look_at(at).await
    }

    async fn read_leases(
        &self,
        names: &[RefName],
    ) -> PortResult<(Timestamp, BTreeMap<RefName, LeaseCommit>)> {
        self.leases_of("read leases", names).await
    }

    async fn permission(&self, login: &Login) -> PortResult<Permission> {
        self.permission_of(login).await
    }

    async fn base_rules(&self, base: &BranchName) -> PortResult<BaseRules> {
        self.rules_of(base).await
    }

    async fn tip_checks(&self, base: &BranchName) -> PortResult<CommitChecks> {
        self.tip_checks_of(base).await
    }

    async fn labels(&self) -> PortResult<Vec<String>> {
        self.label_names().await
    }

    async fn create_commit(&self, commit: &NewCommit) -> PortResult<(Sha, Timestamp)> {
        match self.way() {
            Way::GraphQl | Way::Rest => self.new_commit(commit).await,
            Way::GitPush => self.commit_to_push(commit).await,
        }
    }

    async fn swap_refs(&self, swaps: &[RefSwap]) -> PortResult<SwapOutcome> {
        self.swap(swaps).await
    }

    async fn update_issue(
        &self,
        _proof: &ClaimProof,
        issue: IssueNumber,
        change: &IssueChange,
    ) -> PortResult<String> {
        self.change_issue(issue, change).await
    }

    async fn add_labels(
        &self,
        _proof: &ClaimProof,
        issue: IssueNumber,
        labels: &[String],
    ) -> PortResult<Vec<String>> {
        self.put_labels(issue, labels).await
    }

    async fn remove_label(
        &self,
        _proof: &ClaimProof,
        issue: IssueNumber,
        label: &str,
    ) -> PortResult<()> {
        self.take_label(issue, label).await
    }

    async fn add_assignee(
        &self,
        _proof: &ClaimProof,
        number: u64,
        login: &Login,
    ) -> PortResult<()> {
        self.assign(number, login).await
    }

    async fn remove_assignee(
        &self,
        _proof: &ClaimProof,
        number: u64,
        login: &Login,
    ) -> PortResult<()> {
        self.unassign(number, login).await
    }

    async fn create_comment(
        &self,
        _proof: &ClaimProof,
        number: u64,
        body: &str,
    ) -> PortResult<CommentId> {
        self.comment(number, body).await
    }

    async fn update_comment(
        &self,
        _proof: &ClaimProof,
        id: CommentId,
        body: &str,
    ) -> PortResult<()> {
        self.rewrite_comment(id, body).await
    }

    async fn open_pr(&self, _proof: &ClaimProof, pr: &NewPr) -> PortResult<(PrNumber, String)> {
        self.pull(pr).await
    }

    async fn merge_pr(&self, _proof: &ClaimProof, merge: &MergePr) -> PortResult<Sha> {
        self.merge(merge).await
    }

    async fn enqueue_pr(&self, _proof: &ClaimProof, node_id: &str, head: &Sha) -> PortResult<u64> {
        self.enqueue(node_id, head).await
    }

    async fn update_branch(&self, _proof: &ClaimProof, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.bring_up_to_date(pr, head).await
    }

    async fn rerun_failed(&self, _proof: &ClaimProof, run: u64) -> PortResult<()> {
        self.run_again(run).await
    }

    async fn job_log(&self, job: u64) -> PortResult<String> {
        self.log_of(job).await
    }

    async fn create_label(&self, label: &NewLabel) -> PortResult<()> {
        self.new_label(label).await
    }
}
