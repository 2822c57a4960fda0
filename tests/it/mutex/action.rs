//! The composite action, its steps run as a runner would run them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use super::{Ended, Machine, ended};

#[derive(Deserialize)]
struct Action {
    inputs: BTreeMap<String, Input>,
    outputs: BTreeMap<String, Output>,
    runs: Runs,
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    required: bool,
}

#[derive(Deserialize)]
struct Output {
    value: String,
}

#[derive(Deserialize)]
struct Runs {
    using: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    id: String,
    shell: String,
    env: BTreeMap<String, String>,
    run: String,
}

fn action() -> Action {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/mutex-action/action.yml"
    );
    serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs the action's one step and answers with what it left and the step's outputs.
fn step(machine: &Machine, inputs: &[(&str, &str)]) -> (Ended, String) {
    let action = action();
    assert_eq!(action.runs.using, "composite");
    let [step] = &action.runs.steps[..] else {
        panic!("one step")
    };
    assert_eq!(step.shell, "sh");
    let bin = machine.path("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_ghswarm"), bin.join("ghswarm")).unwrap();
        fs::create_dir(machine.path("temp")).unwrap();
    }
    fs::write(machine.path("step.sh"), &step.run).unwrap();
    fs::write(machine.path("outputs"), "").unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax, `shell`
    let mut command: Command = machine.program("sh");
    command
        .args(["-e", "./step.sh"])
        .env("PATH", path)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_OUTPUT", machine.path("outputs"))
        .env("RUNNER_TEMP", machine.path("temp"));
    for (name, value) in &step.env {
        let input = value
            .strip_prefix("${{ inputs.")
            .and_then(|rest| rest.strip_suffix(" }}"))
            .unwrap();
        assert!(action.inputs.contains_key(input), "{input}");
        let given = inputs.iter().find(|(name, _)| *name == input);
        command.env(name, given.map_or("", |(_, value)| value));
    }
    let output = &action.outputs["output-file"].value;
    assert_eq!(
        *output,
        format!("${{{{ steps.{}.outputs.output-file }}}}", step.id)
    );
    (ended(&mut command), machine.read("outputs"))
}

fn output_file(outputs: &str) -> PathBuf {
    let path = outputs.strip_prefix("output-file=").unwrap();
    path.strip_suffix('\n').unwrap().into()
}

#[test]
fn inputs_reach_the_shell_through_the_environment_only() {
    let action = action();
    for step in &action.runs.steps {
        assert!(!step.run.contains("${{"), "{}", step.run);
    }
    let required: Vec<(&str, bool)> = action
        .inputs
        .iter()
        .map(|(name, input)| (name.as_str(), input.required))
        .collect();
    assert_eq!(
        required,
        [("lock-dir", false), ("name", true), ("run", true)]
    );
}

#[test]
fn what_the_command_writes_as_outputs_is_in_the_output_file() {
    let machine = Machine::new();
    let run = "echo \"hash=$((6 * 7))\" >>\"$GITHUB_OUTPUT\"\necho done";
    let (ended, outputs) = step(&machine, &[("name", "a"), ("run", run)]);
    assert_eq!(
        (ended.status, ended.out.as_str()),
        (Some(0), "done\n"),
        "{}",
        ended.errors
    );
    assert_eq!(
        fs::read_to_string(output_file(&outputs)).unwrap(),
        "hash=42\n"
    );
    assert!(
        ended
            .errors
            .starts_with("::notice::local-mutex: waiting for lock a at ")
    );
}

#[test]
fn a_command_that_fails_fails_the_step_and_leaves_its_outputs() {
    let machine = Machine::new();
    let run = "echo a=b >>\"$GITHUB_OUTPUT\"; exit 7";
    let (ended, outputs) = step(&machine, &[("name", "a"), ("run", run)]);
    assert_eq!(ended.status, Some(7));
    assert_eq!(fs::read_to_string(output_file(&outputs)).unwrap(), "a=b\n");
}

#[test]
fn no_input_is_taken_for_anything_but_itself() {
    let machine = Machine::new();
    let name = "--help $(touch planted) `touch planted` \"; touch planted; '";
    let (ended, _) = step(
        &machine,
        &[("name", name), ("run", "-x 2>/dev/null; echo $?; env")],
    );
    assert_eq!(ended.status, Some(0), "{}", ended.errors);
    assert!(ended.out.starts_with("127\n"), "{}", ended.out);
    assert!(
        !ended.out.contains("touch planted"),
        "the inputs are not handed on: {}",
        ended.out
    );
    assert!(machine.lock_file(name).is_file());
    assert!(!machine.path("planted").exists());
}

#[test]
fn the_lock_folder_is_the_given_one() {
    let machine = Machine::new();
    let folder = machine.path("more locks");
    fs::create_dir(&folder).unwrap();
    let text = folder.display().to_string();
    let inputs = [("name", "a"), ("run", "true"), ("lock-dir", text.as_str())];
    let (ended, _) = step(&machine, &inputs);
    assert_eq!(ended.status, Some(0), "{}", ended.errors);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    let (ended, _) = step(
        &machine,
        &[("name", "a"), ("run", "true"), ("lock-dir", "more")],
    );
    assert_eq!(ended.status, Some(2));
}
