//! The program: wires the real doors and turns the result into an exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, rest)) if command == "supervise" => {
            match ghswarm::cli::supervise::supervise(rest, &no_github) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    ghswarm::cli::supervise::complain(&error);
                    ExitCode::from(70)
                }
            }
        }
        _ => ExitCode::from(2),
    }
}

/// Runs without a lease need no GitHub.
fn no_github(
    handoff: &[u8],
) -> anyhow::Result<Option<std::sync::Arc<dyn ghswarm::ports::github::GitHub>>> {
    anyhow::ensure!(handoff == b"{}", "this build reaches no GitHub");
    Ok(None)
}
