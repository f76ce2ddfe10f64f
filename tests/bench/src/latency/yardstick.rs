//! The CPU of a case as a share of LangGraph's on this host (docs/decisions/0025-cpu-by-its-yardstick.md): hosts differ by
//! two and one host by half from hour to hour, so both are run in turn.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::{ARGUMENT, LIMITS};
use crate::figure::{Figure, median};

/// Runs of each.
const TURNS: usize = 5;
/// What the limits mean: 5 ms, where a case of LangGraph takes 29 to 34; the middle of that.
const MOST: f64 = 5.0 / 31.5;

/// That share, of the middle runs; `python` has what `tests/bench/langgraph_case.py` needs. Each run is a process of its own,
/// as a worker is one: what was measured before leaves a heap in pieces.
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

/// The milliseconds that a program prints before `ms/case`.
fn ms_of_a_case(program: &mut Command) -> anyhow::Result<f64> {
    let output = program.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program:?}: {errors}");
    let line = String::from_utf8(output.stdout)?;
    let told = line.split_once("ms/case");
    told.and_then(|(before, _)| before.split_whitespace().last()?.parse().ok())
        .with_context(|| format!("{program:?}: no figure in {line:?}"))
}
