//! A served fixture and a small client.

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::super::{Serving, serve};
use super::{Fixture, fixture};

pub(super) struct Served {
    pub(super) f: Fixture,
    pub(super) serving: Serving,
    pub(super) token: String,
    client: Client,
}

/// An answer, read whole.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: reqwest::header::HeaderMap,
    pub(super) body: Value,
}

impl Got {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

pub(super) async fn served() -> Served {
    // One provider a process; whoever comes second finds it there.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let f = fixture();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = serve(&f.sim, listener).unwrap();
    let token = f.sim.token_for("op");
    let client = Client::builder().no_proxy().build().unwrap();
    Served {
        f,
        serving,
        token,
        client,
    }
}

impl Served {
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.serving.url());
        self.client
            .request(method, url)
            .header("authorization", format!("Bearer {}", self.token))
    }

    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Got, reqwest::Error> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Got {
            status,
            headers,
            body,
        })
    }

    pub(super) async fn get(&self, path: &str) -> Got {
        self.send(self.request(Method::GET, path)).await.unwrap()
    }

    pub(super) async fn call(&self, method: Method, path: &str, body: Value) -> Got {
        self.send(self.request(method, path).body(body.to_string()))
            .await
            .unwrap()
    }

    pub(super) async fn graphql(&self, operation: &str, variables: Value) -> Got {
        let mut all = json!({ "owner": "acme", "name": "widget" });
        for (name, value) in variables.as_object().unwrap() {
            all[name.as_str()] = value.clone();
        }
        let body = json!({ "query": "", "operationName": operation, "variables": all });
        self.call(Method::POST, "/graphql", body).await
    }
}
