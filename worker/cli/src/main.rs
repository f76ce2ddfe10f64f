//! The `nightshift` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    nightshift_cli::main()
}
