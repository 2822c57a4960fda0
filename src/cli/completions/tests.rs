use super::*;

#[test]
fn every_command_is_completed_in_every_shell() {
    for shell in [KnownShell::Bash, KnownShell::Zsh, KnownShell::Fish] {
        let text = render(shell).unwrap();
        for command in Args::command().get_subcommands() {
            assert!(
                text.contains(command.get_name()),
                "{shell:?}: {}",
                command.get_name()
            );
        }
    }
}
