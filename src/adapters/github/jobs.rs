//! Jobs of GitHub Actions: running failed ones again, and their logs, which lie on another host.

use http::{Method, Uri, header};

use crate::model::limits::CI_LOG_BYTES_MAX;
use crate::ports::{PortError, PortResult, Refusal};

use super::GitHubAdapter;
use super::exchange::Lost;
use super::send::{Call, REDIRECTS_MAX, Sender, judge};

impl GitHubAdapter {
    pub(super) async fn run_again(&self, run: u64) -> PortResult<()> {
        let path = format!("/repos/{}/actions/runs/{run}/rerun-failed-jobs", self.slug);
        let what = format!("run the failed jobs of workflow run {run} again");
        let call = self.write(&what, Method::POST, &path, None);
        self.sender.done(&call).await
    }

    /// GitHub answers with an address that is good for a minute and signed in itself. It gets no token: it
    /// belongs to whoever stores the logs.
    pub(super) async fn log_of(&self, job: u64) -> PortResult<String> {
        let what = format!("read the log of job {job}");
        let path = format!("/repos/{}/actions/jobs/{job}/logs", self.slug);
        let to = self.sender.location(&self.read(&what, &path)).await?;
        if !self.may_be_asked(&to) {
            let words = "the address that GitHub names for it is not `https`";
            return Err(PortError::refused(what, Refusal::Invalid, words));
        }
        let away = |error: reqwest::Error| {
            // The address is a secret for as long as it is good.
            PortError::unavailable(&what, error.without_url().to_string(), None)
        };
        let mut answer = self.bare.get(&to).send().await.map_err(away)?;
        if !answer.status().is_success() {
            let words = format!("status {} where the log lies", answer.status().as_u16());
            return Err(if answer.status().is_server_error() {
                PortError::unavailable(what, words, None)
            } else {
                PortError::refused(what, Refusal::NotFound, words)
            });
        }
        let mut log = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(away)? {
            log.extend_from_slice(&part);
            // Twice as much is held, so that not every part moves all of it.
            if log.len() > 2 * CI_LOG_BYTES_MAX {
                log.drain(..log.len() - CI_LOG_BYTES_MAX);
            }
        }
        log.drain(..log.len().saturating_sub(CI_LOG_BYTES_MAX));
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Plain `http` only where the API itself is on this machine.
    fn may_be_asked(&self, to: &str) -> bool {
        let uri: Option<Uri> = to.parse().ok();
        let scheme = uri.as_ref().and_then(Uri::scheme_str);
        scheme == Some("https") || (scheme == Some("http") && self.sender.address.loopback)
    }
}

impl Sender {
    /// Where a read is redirected to, whatever host that is. The token is not sent there: nothing is.
    pub(super) async fn location(&self, call: &Call) -> PortResult<String> {
        self.check_limit(&call.what)?;
        let mut path = call.path.clone();
        for _ in 0..=REDIRECTS_MAX {
            let answer = self
                .exchange(call, &path)
                .await
                .map_err(|lost| match lost {
                    Lost::NotSent(words) | Lost::Cut(words) | Lost::Endless(words) => {
                        PortError::unavailable(&call.what, words, None)
                    }
                })?;
            let to = answer.headers.get(header::LOCATION);
            let to = to.and_then(|to| to.to_str().ok());
            match (answer.status.as_u16(), to) {
                (302, Some(to)) => return Ok(to.to_owned()),
                // A renamed repository.
                (301 | 307 | 308, Some(_)) => match self.redirected(call, &answer) {
                    Some(next) => path = next,
                    None => break,
                },
                _ => {
                    judge(call, &answer).map_err(|failure| self.port_error(call, failure))?;
                    break;
                }
            }
        }
        let words = "GitHub names no address";
        Err(PortError::refused(&call.what, Refusal::Invalid, words))
    }
}
