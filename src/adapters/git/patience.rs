//! How long a git command is waited for, and what is said meanwhile: a whole limit for each, and one to its
//! silence for those that talk to the remote.

use std::future::Future;
use std::time::Duration;

use super::command::{Call, Collected, Reach, RunError};
use crate::model::limits::{GIT_MUTE_TIMES, GIT_SLOW_AFTER};

/// How often it is looked whether anything came.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What git prints while people wait.
const PROGRESS: [&str; 9] = [
    "Enumerating objects:",
    "Counting objects:",
    "Compressing objects:",
    "Writing objects:",
    "Receiving objects:",
    "Resolving deltas:",
    "Unpacking objects:",
    "Delta compression using",
    "Total ",
];

/// git's own limit to the silence of an HTTP remote (`http.lowSpeedLimit` in git-config(1)).
pub(super) fn options(call: &Call<'_>) -> Vec<String> {
    let Some(silence) = call.silence else {
        return Vec::new();
    };
    let time = format!("http.lowSpeedTime={}", silence.as_secs().max(1));
    ["-c", "http.lowSpeedLimit=1", "-c", &time]
        .map(str::to_owned)
        .to_vec()
}

/// Waits for the end, as long as there is a reason to.
pub(super) async fn wait<T>(
    call: &Call<'_>,
    ending: impl Future<Output = T>,
    output: [&Collected; 2],
) -> Result<T, RunError> {
    let mut ending = std::pin::pin!(ending);
    // Looks are counted and not the clock: a machine that slept did not wait.
    let (mut waited, mut silent) = (Duration::ZERO, Duration::ZERO);
    let (mut before, mut say_at) = (0, GIT_SLOW_AFTER);
    while waited < call.limit {
        let look = LOOK_EVERY.min(call.limit.saturating_sub(waited));
        if let Ok(ended) = tokio::time::timeout(look, &mut ending).await {
            return Ok(ended);
        }
        let now = output.iter().map(|one| one.count()).sum();
        waited += look;
        silent = if now == before {
            silent + look
        } else {
            Duration::ZERO
        };
        before = now;
        let mute = call.silence.map(|silence| silence * GIT_MUTE_TIMES);
        if let Some(silence) = mute.filter(|mute| silent >= *mute) {
            let command = call.shown();
            return Err(RunError::Mute { command, silence });
        }
        if call.reach == Reach::Remote && waited >= say_at {
            say_at *= 2;
            let (waited, limit) = (waited.as_secs(), call.limit.as_secs());
            tracing::warn!(
                "`git {}` waits for the remote since {waited} s (the last word came {} s ago; at most {limit} s)",
                call.shown(),
                silent.as_secs()
            );
        }
    }
    Err(RunError::TimedOut {
        command: call.shown(),
        limit: call.limit,
        guess: call.guess(),
    })
}

/// What git said, without what it says to people who wait.
pub(super) fn without_progress(stderr: &str) -> String {
    let said = |line: &&str| {
        let words = line.strip_prefix("remote: ").unwrap_or(line);
        !PROGRESS.iter().any(|progress| words.starts_with(progress))
    };
    // A carriage return begins the same line again.
    let last = |line: &'_ str| -> String {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = stderr.lines().map(last).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).filter(said).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_people_who_wait_is_no_reason() {
        let stderr = "Enumerating objects: 3, done.\nWriting objects:  33% (1/3)\rWriting objects: 100% (3/3), done.\n\
                      Total 3 (delta 0), reused 0 (delta 0)\nremote: Resolving deltas: 100% (1/1)\u{1b}[K\n\
                      remote: error: GH013: rule violations        \nerror: failed to push some refs\n";
        assert_eq!(
            without_progress(stderr),
            "remote: error: GH013: rule violations        \nerror: failed to push some refs"
        );
    }
}
