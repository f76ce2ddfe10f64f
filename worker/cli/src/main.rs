//! The `nightshift` command.

use std::process::ExitCode;

/// musl's own takes one lock for all threads. What this one keeps is bounded in `.cargo/config.toml`.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    nightshift_cli::main()
}
