//! What a `cycle` said, and waiting for a process with a limit.

use std::process::{Child, Output};

/// Waits for a process with a limit, and takes what it said.
pub fn ended(mut child: Child) -> Output {
    // Both are small: a report and some lines.
    let mut is_over = || child.try_wait().unwrap().is_some();
    for _ in 0..3000 {
        if is_over() {
            return child.wait_with_output().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("it hangs: {:?}", child.wait_with_output().unwrap());
}

/// What a cycle said.
#[derive(Debug)]
pub struct Cycled {
    pub status: Option<i32>,
    pub report: serde_json::Value,
    pub said: String,
}

impl Cycled {
    pub fn of(output: Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Self {
            status: output.status.code(),
            report: serde_json::from_str(&text).unwrap_or_default(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// How the issue stands: `done`, `blocked`, `waiting`, `running`; the reason's code if it sleeps.
    pub fn outcome(&self, issue: u64) -> &str {
        let reports = self.report[0]["issues"].as_array().into_iter().flatten();
        let sleepers = self.report[0]["asleep"].as_array().into_iter().flatten();
        let stepped = reports
            .filter(|r| r["issue"] == issue)
            .map(|r| &r["outcome"]);
        let asleep = sleepers.filter(|s| s[0] == issue).map(|s| &s[1]);
        let mut words = stepped.chain(asleep);
        words.find_map(serde_json::Value::as_str).unwrap_or("none")
    }

    /// Asserts the end of an issue that went well.
    pub fn assert_done(&self, issue: u64) {
        assert_eq!(self.outcome(issue), "done", "{}", self.said);
        assert_eq!(self.status, Some(0), "{}", self.said);
    }
}
