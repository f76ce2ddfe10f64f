//! Measures the CPU of a case as a share of LangGraph's on this host (docs/decisions/0025-cpu-by-its-yardstick.md).
//! Both run in turn, because hosts differ by a factor of two, and one host by half from hour to hour.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::{ARGUMENT, LIMITS};
use crate::figure::{Figure, median};

/// Number of runs of each.
const TURNS: usize = 5;
/// The limit: 5 ms on a host where a case of LangGraph takes 29 to 34 ms, relative to the middle of that.
const MOST: f64 = 5.0 / 31.5;

/// Measures the share as the ratio of medians. `python` has the packages of `tests/bench/langgraph_case.py`. Each run
/// is a separate process, as a worker is, because earlier measurements fragment the heap.
pub(super) fn measure(python: &str) -> anyhow::Result<[Figure; 3]> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("langgraph_case.py");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let mut own = Command::new(std::env::current_exe()?);
        own.args([ARGUMENT, &LIMITS.cases.to_string()]);
        own.arg(LIMITS.every.as_millis().to_string());
        ours.push(ms_of_a_case(&mut own)?);
        theirs.push(ms_of_a_case(Command::new(python).arg(&script))?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let name = |what: &str| format!("12 calls, PostgreSQL, {what}");
    Ok([
        Figure::new(name("CPU, own process"), ours, "ms/case").at_most(5.0),
        Figure::new("10 calls, LangGraph, CPU", theirs, "ms/case"),
        Figure::new(name("CPU / LangGraph's"), ours / theirs, "x").at_most(MOST),
    ])
}

/// Returns the milliseconds that a program prints before `ms/case`.
fn ms_of_a_case(program: &mut Command) -> anyhow::Result<f64> {
    let output = program.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program:?}: {errors}");
    let line = String::from_utf8(output.stdout)?;
    let told = line.split_once("ms/case");
    told.and_then(|(before, _)| before.split_whitespace().last()?.parse().ok())
        .with_context(|| format!("{program:?}: no figure in {line:?}"))
}
