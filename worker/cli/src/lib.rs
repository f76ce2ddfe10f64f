//! Implements the command line program: configuration, wiring, metrics and commands. It connects the adapters to the
//! ports and runs the pipeline. It decides nothing about alerts.

mod args;
mod clean_line;
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

use self::exit::Exit;

/// The time that the process waits for its own threads at the end.
const LINGER: Duration = Duration::from_millis(300);

/// Returns the number of async threads, one for two cores. Cases mostly wait, and with a thread per core, threads
/// wake each other for work that one could have done (docs/performance.md). Blocking work has its own threads.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

/// Runs the command of the command line.
#[must_use]
pub fn main() -> ExitCode {
    let args = args::Args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return report(&Exit::Failed(error.into())),
    };
    let result = runtime.block_on(Box::pin(command::run(args)));
    // Reads of standard input and name look-ups may never return, and nothing important depends on them. All other
    // threads are waited for, because detaching a thread that is just ending can crash in the C library (glibc, bug
    // 19951).
    runtime.shutdown_timeout(LINGER);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => report(&exit),
    }
}

/// Prints the error on standard error and returns the exit code.
fn report(exit: &Exit) -> ExitCode {
    if exit.is_unreported() {
        output::print_stderr(&format!("error: {}", exit.message()));
    }
    ExitCode::from(exit.code())
}
