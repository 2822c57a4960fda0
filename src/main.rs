//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ghswarm::cli::main()
}
