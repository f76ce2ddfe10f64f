//! The `nightshift` command.

use std::process::ExitCode;
use std::time::Duration;

/// The allocator of musl takes one lock for all threads: static programs use jemalloc
/// (`docs/decisions/0015-an-allocator-for-static-programs.md`).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How long the end waits for a database file to be closed. It is told what was not, and no more: a log beside the file
/// is read at the next start.
const CLOSING: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let code = nightshift_cli::main();
    // Here nobody holds a store any more, and no other work is held up.
    let _ = nightshift_store::closed_within(CLOSING);
    code
}
