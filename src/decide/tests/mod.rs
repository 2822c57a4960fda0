//! The core, tested by tables: what was seen goes in, and the decision is read as a sentence.

mod believing;
mod effects;
mod forged_worlds;
mod gate;
mod given;
mod guards;
mod markers;
mod money;
mod orders;
mod parts;
mod phases;
mod pushes;
mod sandboxes;
mod small_worlds;
mod steps;
mod turns;
mod whys;
mod whys_ci;
mod world;

use super::Decision;
use given::Given;

/// `write state: blocked as x`, `wait: 2 of 5 checks done`, `finished: done`.
fn told(decision: &Decision) -> String {
    match decision {
        Decision::Do(effect, why) => format!("{}: {why}", effect.name()),
        Decision::Wait { why, .. } => format!("wait: {why}"),
        Decision::Finished(why) => format!("finished: {why}"),
    }
}

#[track_caller]
fn check(given: &Given, expect: &str) {
    assert_eq!(told(&given.decide()), expect);
}

/// Names of the variants of an `enum`, as test names.
fn variants(source: &str, opens: &str) -> Vec<String> {
    let (_, body) = source.split_once(opens).unwrap();
    let body = &body[..body.find("\n}").unwrap()];
    let line = regex::Regex::new(r"(?m)^    ([A-Z]\w*)").unwrap();
    let snake = |name: &str| {
        let words = name.char_indices().map(|(at, c)| match c {
            'A'..='Z' if at > 0 => format!("_{}", c.to_ascii_lowercase()),
            c => c.to_ascii_lowercase().to_string(),
        });
        words.collect::<String>()
    };
    line.captures_iter(body).map(|c| snake(&c[1])).collect()
}

#[test]
fn every_effect_and_every_reason_has_a_test_of_its_name() {
    let files = [
        (
            include_str!("../effect.rs"),
            "pub enum Effect {",
            vec![include_str!("effects.rs")],
        ),
        (
            include_str!("../why.rs"),
            "pub enum Why {",
            vec![include_str!("whys.rs"), include_str!("whys_ci.rs")],
        ),
    ];
    for (source, opens, tests) in files {
        let names = variants(source, opens);
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            let wanted = format!("\nfn {name}() {{");
            assert!(tests.iter().any(|text| text.contains(&wanted)), "{name}");
        }
    }
}
