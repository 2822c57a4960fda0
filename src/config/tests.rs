//! Whole files in, problems or values out. Messages are compared as people read them.

mod example;
mod feature_problems;
mod locating;
mod sandboxes;
mod sense_problems;
mod shape_problems;
mod value_problems;
mod values;

use std::path::Path;

use super::{Config, ConfigProblems, load};

/// The least that loads; two lines of indentation are open at its end.
const LEAST: &str = "\
repositories:
  demo:
    repo: octo/demo
    path: /src/demo
    agents: {implement: {command: claude}, review: {command: claude}}
";

fn env(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/ann".to_owned()),
        "TOKEN" => Some("hunter2".to_owned()),
        "COUNT" => Some("7".to_owned()),
        "EMPTY" => Some(String::new()),
        "YES" => Some("true".to_owned()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Config, ConfigProblems> {
    load(text, Path::new("c.yaml"), &env)
}

/// `LEAST` with these lines in its repository.
fn with(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("{LEAST}{}", lines.concat())
}

fn good(lines: &str) -> super::RepoConfig {
    let config = read(&with(lines)).unwrap_or_else(|problems| panic!("{problems}"));
    config.repositories["demo"].clone()
}

/// All problems, each with its hint, as the command line prints them.
fn told(text: &str) -> String {
    let problems = read(text)
        .err()
        .map(|problems| problems.0)
        .unwrap_or_default();
    let line = |problem: &super::ConfigProblem| format!("{problem}\n  hint: {}\n", problem.hint);
    problems.iter().map(line).collect()
}

/// Every problem of the text, word for word.
#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(told(text).trim(), expected.trim(), "{text}");
}
