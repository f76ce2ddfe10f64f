//! The top floor: configuration, wiring, metrics and commands. It decides nothing about alerts; it puts the adapters
//! behind the ports, and lets the pipeline run.

mod args;
mod clock;
mod command;
mod config;
mod exit;
mod logs;
mod metrics;
mod output;
mod progress;
mod telemetry;
mod traces;
mod wiring;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// How long the process waits for its own threads when it ends.
const LINGER: Duration = Duration::from_millis(300);

/// Threads for what waits: one for two cores. Cases mostly wait, and as many threads as cores wake each other for work
/// that one of them would have done (docs/performance.md). Reading of files and what else blocks has threads of its own.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Runs the command of this process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    let args = args::Args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return exit::Exit::Failed(error.into()).report(),
    };
    let result = runtime.block_on(Box::pin(command::run(args)));
    // A read of standard input or a name look-up may hang for ever; nothing that matters is left to wait for. All other
    // threads are waited for: to detach one that is just ending can crash in the C library (glibc, bug 19951).
    runtime.shutdown_timeout(LINGER);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => exit.report(),
    }
}
