//! The verbs of two ghswarm processes through the real adapter's REST way, in every order of their requests as
//! they go over the wire: making a ref, a child commit, moving a ref without force, a tombstone.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Response;
use ghswarm::adapters::clock::SystemClock;
use ghswarm::adapters::github::{GitHubAdapter, GitHubSettings};
use ghswarm::model::lease;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::SLUG;
use super::gated::Way;
use super::orders::{Ended, Stage, Verb, act};
use crate::every_order::{Choices, choose, every_order};

/// Longer than any request takes.
const LIMIT: Duration = Duration::from_secs(30);

/// How far an actor is.
#[derive(Debug, Clone, Copy, Default)]
struct Far {
    arrived: usize,
    answered: usize,
    ended: bool,
}

/// Stands between an actor and GitHub, and lets one request on at a time.
#[derive(Clone)]
struct Barrier {
    upstream: String,
    leave: Arc<Semaphore>,
    far: watch::Sender<Far>,
}

impl Barrier {
    fn new(upstream: &str) -> Self {
        Self {
            upstream: upstream.trim_start_matches("http://").to_owned(),
            leave: Arc::new(Semaphore::new(0)),
            far: watch::Sender::new(Far::default()),
        }
    }

    /// Its address.
    async fn serve(&self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = axum::Router::new().fallback(pass).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        format!("http://{address}")
    }

    async fn until(&self, fact: impl FnMut(&Far) -> bool) {
        let mut far = self.far.subscribe();
        let waited = tokio::time::timeout(LIMIT, far.wait_for(fact)).await;
        waited.expect("the actor neither asks nor ends").unwrap();
    }

    /// Waits until the actor asks again or is done; says whether it goes on.
    async fn stands(&self) -> bool {
        self.until(|far| far.ended || far.arrived > far.answered)
            .await;
        !self.far.borrow().ended
    }

    /// Lets the request on that waits, until GitHub has answered it.
    async fn step(&self) {
        let before = self.far.borrow().answered;
        self.leave.add_permits(1);
        self.until(|far| far.answered > before).await;
    }
}

async fn pass(State(barrier): State<Barrier>, request: Request) -> Response<Body> {
    barrier.far.send_modify(|far| far.arrived += 1);
    barrier.leave.acquire().await.unwrap().forget();
    let answer = forward(&barrier.upstream, request).await;
    barrier.far.send_modify(|far| far.answered += 1);
    answer
}

/// The request, sent on as it is; in the oldest form, whose answer ends with its connection.
async fn forward(upstream: &str, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let mut head = format!("{} {} HTTP/1.0\r\n", parts.method, parts.uri);
    for (name, value) in &parts.headers {
        if !["connection", "content-length", "transfer-encoding"].contains(&name.as_str()) {
            write!(head, "{name}: {}\r\n", value.to_str().unwrap()).unwrap();
        }
    }
    write!(head, "content-length: {}\r\n\r\n", body.len()).unwrap();
    let mut stream = TcpStream::connect(upstream).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let status: u16 = lines.next().unwrap()[9..12].parse().unwrap();
    let mut response = Response::builder().status(status);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if !["connection", "content-length"].contains(&name.to_lowercase().as_str()) {
            response = response.header(name, value);
        }
    }
    let body = Bytes::from(answer.split_off(end + 4));
    response.body(Body::from(body)).unwrap()
}

/// One order of requests over the wire.
async fn run(stage: &Stage, order: &[usize]) -> Choices {
    stage.reset();
    let ended: Arc<Mutex<Vec<(usize, Ended)>>> = Arc::default();
    let mut barriers = Vec::new();
    for (at, (owner, verb)) in stage.actors.iter().enumerate() {
        let barrier = Barrier::new(&stage.hub.url());
        let settings = GitHubSettings {
            api_url: barrier.serve().await,
            write_spacing: Duration::ZERO,
            ..GitHubSettings::new(SLUG.parse().unwrap(), stage.hub.sim.token_for("op").into())
        };
        let adapter = GitHubAdapter::new(settings, Arc::new(SystemClock)).unwrap();
        adapter.set_way(lease::Way::Rest);
        let leases = stage.leases(owner, Arc::new(adapter));
        let (verb, ended, far) = (*verb, ended.clone(), barrier.far.clone());
        tokio::spawn(async move {
            let end = act(leases, verb).await;
            ended.lock().unwrap().push((at, end));
            far.send_modify(|far| far.ended = true);
        });
        barriers.push(barrier);
    }
    let mut choices = Choices::new();
    let mut before = stage.holders();
    loop {
        let mut live = Vec::new();
        for (at, barrier) in barriers.iter().enumerate() {
            if barrier.stands().await {
                live.push(at);
            }
        }
        if live.is_empty() {
            break;
        }
        let at = choose(order, &mut choices, &live);
        barriers[at].step().await;
        let after = stage.holders();
        stage.expect_kept(at, (&before, &after), order);
        before = after;
    }
    stage.judge(&ended.lock().unwrap(), order);
    choices
}

fn over_the_wire(expired: Option<&'static str>, actors: &[(&'static str, Verb)], at_least: usize) {
    let stage = Stage::new(Way::Graves, expired, actors);
    let orders = every_order(|order| stage.hub.runtime.block_on(run(&stage, order)));
    assert!(orders >= at_least, "only {orders} orders");
}

#[test]
fn a_renewal_and_a_steal_have_one_winner_over_the_wire() {
    over_the_wire(Some("a"), &[("a", Verb::Renew), ("b", Verb::Claim)], 20);
}

#[test]
fn a_release_never_removes_the_lease_of_the_one_who_stole_it_over_the_wire() {
    over_the_wire(Some("a"), &[("a", Verb::Release), ("b", Verb::Claim)], 30);
}

#[test]
fn a_reaper_never_removes_the_lease_that_replaced_an_expired_one_over_the_wire() {
    over_the_wire(Some("dead"), &[("r", Verb::Reap), ("b", Verb::Claim)], 30);
}

#[test]
fn two_claims_have_one_winner_over_the_wire() {
    over_the_wire(None, &[("a", Verb::Claim), ("b", Verb::Claim)], 20);
}
