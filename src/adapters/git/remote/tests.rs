//! How the words of git and ssh read: only a refusal blocks, whatever passes by itself is tried again.

use super::{Reach, reach, read_failure, write_failure};
use crate::adapters::git::command::RunError;
use crate::ports::{PortError, Refusal};

#[test]
fn a_connection_that_the_other_side_drops_is_no_refusal() {
    for words in [
        "kex_exchange_identification: Connection closed by remote host\nfatal: Could not read from remote repository.",
        "Connection closed by 192.0.2.1 port 22\nfatal: Could not read from remote repository.",
        "error: transfer closed with outstanding read data remaining",
        "fatal: expected flush after ref listing",
        "fatal: protocol error: bad line length 30",
    ] {
        assert!(matches!(reach(words), Reach::CutOff), "{words}");
    }
}

#[test]
fn what_ssh_refuses_stays_a_refusal() {
    for words in [
        "git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.",
        "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
    ] {
        assert!(matches!(reach(words), Reach::Refused(_)), "{words}");
    }
}

const ACCESS: &str =
    "fatal: unable to access 'https://github.com/o/r.git/': The requested URL returned error:";

#[test]
fn a_rate_limit_is_a_wait_and_blocks_nothing() {
    for words in [
        format!("remote: You have exceeded a secondary rate limit.\n{ACCESS} 403"),
        format!("remote: Too many requests, please wait\n{ACCESS} 403"),
        // With the limit in its headers alone.
        format!("{ACCESS} 403"),
        format!("{ACCESS} 429"),
        format!("remote: Whoa there\n{ACCESS} 429"),
        "batch response: API rate limit exceeded\nerror: failed to fetch some objects".to_owned(),
    ] {
        let error = RunError::Failed {
            command: "fetch".to_owned(),
            code: Some(128),
            stderr: words.clone(),
        };
        for error in [
            read_failure("fetch", &error, ""),
            write_failure("push", &error),
        ] {
            let waits = matches!(
                &error,
                PortError::Unavailable {
                    retry_at: Some(_),
                    ..
                }
            );
            assert!(waits, "{words}: {error}");
        }
    }
}

#[test]
fn a_403_that_names_its_reason_stays_a_refusal() {
    for words in [
        format!("remote: Permission to o/r.git denied to someone.\n{ACCESS} 403"),
        format!("remote: Write access to repository not granted.\n{ACCESS} 403"),
    ] {
        assert_eq!(reach(&words), Reach::Refused(Refusal::Forbidden), "{words}");
    }
}
