//! Runs the `nightshift` command.

use std::process::ExitCode;
use std::time::Duration;

/// The allocator of static programs. That of musl has one lock for all threads
/// (`docs/decisions/0015-an-allocator-for-static-programs.md`).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The time that the process waits at its end for a database file to be closed. A write-ahead log that remains is read
/// at the next start.
const CLOSING: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let code = nightshift_cli::main();
    // Nothing uses a store any more, and no other work is delayed.
    let _ = nightshift_store::wait_until_closed(CLOSING);
    code
}
