//! How the words of git and ssh read: only a refusal blocks, whatever passes by itself is tried again.

use super::{Reach, reach};

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
