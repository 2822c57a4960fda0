//! Every kind of problem.

use super::{LEAST, read, told, with};

#[test]
fn scratch() {
    let cases = [
        "", "a", "- a", "repositories:\n", "repositories: {}\n", "repositories: [a]\n", "repositories: {x: 1, 'a b': {}}\n",
        "repositories:\n\tdemo: 1\n", "repositories:\n  demo:\n  \trepo: a/b\n", "repositories: {a: {\n", "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
        "secret: \"hunter2\n", "? [a]\n: b\n", "a: 1\n---\nb: 2\n", "x: *nope\n", "x: !foo bar\n", "x: !!int abc\n", "~: 3\n", "x: .nan\n",
    ];
    for case in cases {
        println!("=== {case:?}\n{}", told(case));
    }
    let lines = [
        "poll_intervall: 3\npoll-interval: 3\nPATH: x\nmax_parallel_repos: 3\ntest_command: x\nsandbox: {}\nspec_dir: x",
        "depends: yes\naddress_pr_reviews: off\nauto_fix_ci: 1\npost_merge_ci: maybe\nrequire_approval: Yes\nagents: {implement: {env_clear: on}}",
        "max_retries: three\nmax_retries: 2\nci_fix_max_retries: -1\nconflict_max_retries: 1.5\nmax_parallel_issues: 0\nposst: 1",
        "poll_interval: 3 weeks\nci_start_grace: -3\nlock_ttl: [1]\npost_merge_ci_grace: 5x",
        "merge_method: sqash\nlock: label\norder: 3\nlabels: 3\ntarget: {labels: bug, assignee: 'a b', milestone: 3}",
        "repo: nope\npath: src\nbase_branch: 'a b'\nbranch_prefix: '-x'\nquestion_file: ../q\nprotected_paths: [/etc, 3]\ntransient_error_patterns: ['(', '', 'a*']",
        "lease: {namespace: heads/x, ttl: 4m}", "lease: {namespace: 'a b', ttl: 2d, margins: 3}", "lease: {ttl: 2s, test_margins: {grace: 1}}",
        "labels: {idle: a, blocked: A, completed: 'status: busy-x', busy_prefix: ''}", "labels: {idle: a, blocked: A, completed: 'status: busy-x'}", 
        "agents: {implement: {command: 'a \"b'}, review: {command: []}, simplify: {timeout: 3}, sandbox: {driver: docker}}",
        "agents: {implement: {command: ['', 3]}, review: {command: '{prompt} {stdin}', idle_timeout: 3h}}",
        "verify: {sandbox: {driver: docker, image: x, cpus: 0.0, timeout: 3}}", "verify: [{path: a, mutex: x}, {path: a}, {sandbox: {timeout: 1}}, 3]",
        "budget: {tokens: {run: 5}, usd: {day: 0.5, issue: 0}}\ngithub: {app: {id: 3}, api_url: http://example.com, token_command: 3}\nnotify: {slack_webhook_url: https://hooks, macos: true, command: x, macos: false}",
        "env: {A: [1], 'B C': x}\nactivity_dir: ~bob/x\nworktree_setup: ${NOPE} ${A%b} ${x\nevent_db: ${TOKEN}\nmerge_method: ${TOKEN}\nmax_retries: ${TOKEN}",
        "trust: {associations: [NONE, OWNER], logins: ['@a'], bots: dependabot}", "github: {api_url: 'https://user:pw@x'}\nclaims: {marker: 'a b', label: 'a,b'}",
    ];
    for case in lines {
        println!("=== {case}\n{}", told(&with(case)));
    }
    let _ = (LEAST, read(""));
}
