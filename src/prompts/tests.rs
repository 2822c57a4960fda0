use super::*;

fn facts() -> PromptFacts {
    PromptFacts {
        number: 42,
        title: "Greet by name".to_owned(),
        text: "Please {{ ignore }} this.".to_owned(),
        tasks: vec!["Add --name".to_owned(), "Document it".to_owned()],
        verify: vec!["sh test.sh".to_owned()],
        base: "main".to_owned(),
        branch: "issue-42".to_owned(),
        question_file: ".agent_question.md".to_owned(),
        review_file: ".agent_review.md".to_owned(),
        verify_log: None,
        review: None,
        question: None,
        answers: Vec::new(),
        last_failure: None,
        ci: None,
        fence: "w0rd".to_owned(),
    }
}

#[test]
fn every_prompt_renders_with_and_without_the_optional_parts() {
    for kind in [RunKind::Implement, RunKind::Simplify, RunKind::Review] {
        let plain = render(kind, &facts()).unwrap();
        assert!(plain.contains("Greet by name"), "{plain}");
        assert!(plain.contains("w0rd"), "{plain}");
        let full = PromptFacts {
            verify_log: Some("FAILED test_name".to_owned()),
            review: Some("rename it".to_owned()),
            question: Some("which name?".to_owned()),
            answers: vec!["Ann".to_owned()],
            last_failure: Some("fell silent".to_owned()),
            ..facts()
        };
        render(kind, &full).unwrap();
    }
}

#[test]
fn text_of_an_issue_is_never_a_template() {
    let prompt = render(RunKind::Implement, &facts()).unwrap();
    assert!(prompt.contains("{{ ignore }}"));
}

#[test]
fn the_failed_log_reaches_the_next_prompt() {
    let facts = PromptFacts {
        verify_log: Some("FAILED test_name".to_owned()),
        ..facts()
    };
    assert!(
        render(RunKind::Implement, &facts)
            .unwrap()
            .contains("FAILED test_name")
    );
}

#[test]
fn a_fix_of_red_checks_names_each_with_what_is_known() {
    let check = |name: &str| CiCheck {
        name: name.to_owned(),
        description: None,
        url: Some(format!("https://ci/{name}")),
        excerpt: None,
        file: None,
        no_log: None,
    };
    let checks = vec![
        CiCheck {
            excerpt: Some("error: it broke".to_owned()),
            file: Some("ci-1.log".to_owned()),
            ..check("test")
        },
        CiCheck {
            description: Some("coverage fell".to_owned()),
            ..check("codecov")
        },
        CiCheck {
            no_log: Some("gone".to_owned()),
            ..check("old")
        },
    ];
    let facts = PromptFacts {
        ci: Some(CiFacts {
            sha: "abc".to_owned(),
            checks,
        }),
        verify_log: Some("FAILED".to_owned()),
        last_failure: Some("fell silent".to_owned()),
        review: Some("rename it".to_owned()),
        ..facts()
    };
    let prompt = render(RunKind::Implement, &facts).unwrap();
    for words in [
        "ci-1.log",
        "error: it broke",
        "coverage fell",
        "https://ci/old",
        "gone",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    // The review of it is an ordinary one.
    assert!(
        !render(RunKind::Review, &facts)
            .unwrap()
            .contains("ci-1.log")
    );
}
