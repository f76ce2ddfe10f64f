//! The `nightshift` command.

use std::process::ExitCode;
use std::time::Duration;

use nightshift_memory as _;

/// How long the end waits for a database file to be closed. It is told what was not, and no more: a log beside the file
/// is read at the next start.
const CLOSING: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let code = nightshift_cli::main();
    // Here nobody holds a store any more, and no other work is held up.
    let _ = nightshift_store::closed_within(CLOSING);
    code
}
