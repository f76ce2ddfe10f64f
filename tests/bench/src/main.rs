//! Prints figures of speed and size, one per line, with their limits.
//!
//! The command is `cargo run --release -p nightshift-bench [-- GROUP…]`. A figure above its limit is printed and is not
//! an error: machines differ, and a test that fails on a busy machine teaches people to run it again. The exit code is
//! not 0 only if a measurement failed. `docs/performance.md` explains the figures. The benchmark needs Linux (`/proc`).

mod cases;
mod engine;
mod figure;
mod fixture;
mod latency;
mod model;
mod open;
mod parse;
mod process;
mod program;
mod registers;
mod scripted;
mod worker;

use anyhow::bail;
use tracing::subscriber::NoSubscriber;

use crate::figure::Figure;

/// The allocator of musl takes one lock for all threads, so static programs use jemalloc
/// (`docs/decisions/0015-an-allocator-for-static-programs.md`).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A function that measures one group of figures.
type Measure = fn() -> anyhow::Result<Vec<Figure>>;

const GROUPS: [(&str, Measure); 8] = [
    ("cases", cases::measure),
    ("parse", parse::measure),
    ("engine", engine::measure),
    ("program", program::measure),
    ("model", model::measure),
    ("latency", latency::measure),
    ("open", open::measure),
    ("worker", worker::measure),
];

fn main() -> anyhow::Result<()> {
    // The program sets this too when it records no traces. Without a subscriber, values of spans are formatted for
    // the crate `log`.
    tracing::subscriber::set_global_default(NoSubscriber::default())?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // Some figures are measured in separate processes, which run this program again.
    match wanted.split_first() {
        Some((name, rest)) if name == model::fake::ARGUMENT => return model::fake::serve(rest),
        Some((name, rest)) if name == open::ARGUMENT => return open::serve(rest),
        Some((name, rest)) if name == latency::ARGUMENT => return latency::serve(rest),
        _ => {}
    }
    let known: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
    if wanted.iter().any(|one| one == "--help" || one == "-h") {
        println!(
            "Prints figures of speed and size, each beside its limit (docs/performance.md).\n\n\
             Usage: nightshift-bench [GROUP…]\n\n\
             Groups: {}; all where none is named.\n\
             NIGHTSHIFT_BIN names the program that `program` and `worker` start; else they build it. `worker` and the rows\n\
             of PostgreSQL need the servers that `. tests/.cache/services.env` names, after `bash tests/services`;\n\
             NIGHTSHIFT_TEST_LANGGRAPH_PYTHON names a Python that can run `tests/bench/langgraph_case.py`, and `latency`\n\
             then holds a case against one of LangGraph.",
            known.join(", ")
        );
        return Ok(());
    }
    if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no group {name:?}; there are {}", known.join(", "));
    }
    if cfg!(debug_assertions) {
        eprintln!("this build is not optimised: its figures say little; use `cargo run --release`");
    }
    for (name, measure) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            for figure in measure()? {
                println!("{}", figure.line(name));
            }
        }
    }
    Ok(())
}
