//! An agent that writes into the clone's configuration.

use std::fs;
use std::net::TcpListener;

use super::world::{Setup, World, body};

#[test]
fn a_planted_configuration_neither_redirects_nor_sees_what_has_the_token() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    let work = format!(
        "spy=\"env >> ${{0%/*}}/spied; cat\"\n\
         git config http.proxy http://127.0.0.1:{port}\n\
         git config http.sslVerify false\n\
         git config credential.helper \"!$spy\"\n\
         git config core.sshCommand \"$spy\"\n\
         git config core.fsmonitor \"$spy\"\n\
         git config remote.origin.proxy http://127.0.0.1:{port}\n\
         git config filter.spy.clean \"$spy\"\n\
         git config filter.spy.smudge \"$spy\"\n\
         echo '*.txt filter=spy' > .gitattributes\n\
         echo done > done-$GHSWARM_ISSUE.txt"
    );
    let world = World::new(&Setup {
        work: Box::leak(work.into_boxed_str()),
        ..Setup::default()
    });
    let home = world.home("one");
    // The second one starts when everything is planted.
    for title in ["Do it", "Do it again"] {
        let issue = world.open_issue(title, &body(&world.verify_step()));
        home.to_done(&world, issue);
        world.assert_done_once(issue);
    }
    assert!(trap.accept().is_err(), "the planted proxy was asked");
    let spied = fs::read_to_string(world.dir().join("spied")).unwrap();
    assert!(spied.contains("PATH="), "the filter of the clone works");
    assert!(!spied.contains(&home.token), "{spied}");
}

#[test]
fn a_planted_push_address_blocks_and_says_which_and_what_to_do() {
    let world = World::new(&Setup {
        work: "git init -q --bare ${0%/*}/evil.git\n\
               git config remote.origin.pushurl ${0%/*}/evil.git\n\
               echo done > done-$GHSWARM_ISSUE.txt",
        ..Setup::default()
    });
    let issue = world.open_issue("Do it", &body("[]"));
    let home = world.home("one");
    let ended = home.cycle_wait();
    let text = world.issue(issue).comments;
    let text: Vec<&str> = text.iter().map(|c| c.body.as_str()).collect();
    let text = text.join("\n");
    for words in ["push_refused", "evil.git", "pointed to", "rm /"] {
        assert!(text.contains(words), "{words}: {text}\n{ended:?}");
    }
    let evil = fs::read_dir(world.dir().join("evil.git/refs/heads")).unwrap();
    assert_eq!(evil.count(), 0);
}
