//! Stands between a client and a served GitHub, hands everything on and keeps the GraphQL.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde_json::Value;

/// A question and its answer.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) query: String,
    pub(super) variables: Value,
    pub(super) answer: Value,
}

struct Between {
    to: String,
    client: reqwest::Client,
    kept: Mutex<Vec<Asked>>,
}

/// The recorder at work; it ends with this.
pub(super) struct Recorder {
    pub(super) url: String,
    between: Arc<Between>,
    _runtime: tokio::runtime::Runtime,
}

impl Recorder {
    /// In front of this address.
    pub(super) fn before(to: &str) -> Self {
        // Only the first one of a process takes; it is the same one each time.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let between = Arc::new(Between {
            to: to.to_owned(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            kept: Mutex::default(),
        });
        let app = Router::new()
            .fallback(pass)
            .with_state(Arc::clone(&between));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            url,
            between,
            _runtime: runtime,
        }
    }

    /// Everything so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.between.kept.lock().unwrap().clone()
    }
}

async fn pass(State(between): State<Arc<Between>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let path = parts.uri.path_and_query().unwrap().as_str();
    let mut headers = parts.headers;
    headers.remove("host");
    headers.remove("content-length");
    headers.remove("transfer-encoding");
    let sent = between
        .client
        .request(parts.method, format!("{}{path}", between.to))
        .headers(headers)
        .body(body.clone())
        .send()
        .await;
    let Ok(answer) = sent else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        return response;
    };
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    // The body is handed on in one piece.
    headers.remove("transfer-encoding");
    headers.remove("content-length");
    let bytes = answer.bytes().await.unwrap_or_default();
    if path.ends_with("/graphql") {
        let question: Value = serde_json::from_slice(&body).unwrap_or_default();
        between.kept.lock().unwrap().push(Asked {
            query: question["query"].as_str().unwrap_or_default().to_owned(),
            variables: question["variables"].clone(),
            answer: serde_json::from_slice(&bytes).unwrap_or_default(),
        });
    }
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
