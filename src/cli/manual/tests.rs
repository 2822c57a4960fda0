use super::*;

/// The help, the man page and the README say the same: nothing can be in one and not in the other.
#[test]
fn the_man_page_of_each_command_has_its_options_and_commands() {
    let mut left = vec![tree()];
    let mut options = 0;
    while let Some(command) = left.pop() {
        let page = page(&command).unwrap();
        let name = command.get_display_name().unwrap_or(command.get_name());
        let name = name.to_owned();
        assert!(page.contains(&name.replace('-', "\\-")), "{name}: {page}");
        for argument in command.get_arguments().filter(|a| !a.is_hide_set()) {
            let Some(long) = argument.get_long() else {
                continue;
            };
            let written = format!("\\-\\-{}", long.replace('-', "\\-"));
            assert!(page.contains(&written), "{name}: --{long}\n{page}");
            options += 1;
        }
        for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            let written = format!("{name}-{}", inner.get_name()).replace('-', "\\-");
            assert!(page.contains(&written), "{name}: {written}\n{page}");
            left.push(inner.clone());
        }
    }
    assert!(options > 60, "{options}");
}

#[test]
fn a_page_is_found_by_the_words_of_its_command() {
    let words = ["claim", "release"].map(str::to_owned);
    let text = page(&find(&words).unwrap()).unwrap();
    assert!(text.contains("ghswarm\\-claim\\-release"), "{text}");
    let wrong = find(&["claim".to_owned(), "frob".to_owned()]).unwrap_err();
    assert_eq!(wrong.to_string(), "`ghswarm claim` has no command `frob`");
}

#[test]
fn all_pages_are_written_one_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("man1");
    let pages = write_all(&made).unwrap();
    assert_eq!(std::fs::read_dir(&made).unwrap().count(), pages);
    for name in [
        "ghswarm.1",
        "ghswarm-claim-release.1",
        "ghswarm-service-install.1",
    ] {
        assert!(made.join(name).is_file(), "{name}");
    }
}

/// The commands of the `sh` blocks of a text, without what a shell does around them.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut inside = false;
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside && open {
            if let Some(last) = lines.last_mut() {
                last.pop();
                last.push_str(line);
            }
            open = line.ends_with('\\');
        } else if inside {
            lines.push(line.to_owned());
            open = line.ends_with('\\');
        }
    }
    lines
        .iter()
        .filter(|line| line.starts_with("ghswarm "))
        .map(|line| shlex::split(line).unwrap_or_else(|| panic!("{line}")))
        .map(|words| {
            words
                .into_iter()
                .take_while(|w| !["|", ">", ">>"].contains(&w.as_str()))
                .collect()
        })
        .collect()
}

#[test]
fn every_command_in_the_readme_and_the_examples_can_be_typed() {
    use clap::Parser as _;
    let texts = [
        include_str!("../../../README.md"),
        include_str!("../../../examples/two-machines/README.md"),
    ];
    let mut count = 0;
    for words in texts.iter().flat_map(|text| commands(text)) {
        assert!(Args::try_parse_from(&words).is_ok(), "{words:?}");
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
fn the_readme_names_every_command() {
    let readme = include_str!("../../../README.md");
    let missing: Vec<String> = tree()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .filter(|name| !readme.contains(&format!("`{name}")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
