//! Measures the program as people start it: the time of a run, and the memory while it waits.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::figure::{Figure, median};
use crate::process::{cpu, status_kib};

/// Repetitions of each start.
const TIMES: u16 = 20;
/// Interval of polling a process that settles.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Number of polls with the same memory after which a process has settled.
const SAME_LOOKS: u32 = 20;

/// Measures starts and memory of the program beside this one.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let program = nightshift_tests::build_program()?;
    let alert = crate::parse::samples().join("scc-crypto-miner.json");
    let alert = alert.to_str().context("the samples' folder is no text")?;
    let run = ["run", alert, "--quiet", "--format", "json"];
    let kept = tempfile::tempdir()?;
    let version = measure_starts(&program, &["--version"], None)?;
    let fresh = measure_starts(&program, &run, None)?;
    // The first run creates the database that the others find.
    run_once(&program, &run, kept.path())?;
    let again = measure_starts(&program, &run, Some(kept.path()))?;
    Ok(vec![
        Figure::new("--version, wall", version.wall_ms, "ms").at_most(300.0),
        Figure::new("--version, CPU", version.cpu_ms, "ms"),
        Figure::new("run, new database, wall", fresh.wall_ms, "ms").at_most(300.0),
        Figure::new("run, new database, CPU", fresh.cpu_ms, "ms"),
        Figure::new("run, old database, wall", again.wall_ms, "ms").at_most(300.0),
        Figure::new("run, old database, CPU", again.cpu_ms, "ms"),
        Figure::new("RSS while it waits", idle_mib(&program)?, "MiB").at_most(40.0),
    ])
}

/// The results of several starts.
struct StartTimes {
    /// Median wall time in milliseconds.
    wall_ms: f64,
    /// Mean CPU time in milliseconds.
    cpu_ms: f64,
}

/// Runs the program many times in this folder, or each time in a new folder if there is none.
fn measure_starts(
    program: &Path,
    arguments: &[&str],
    folder: Option<&Path>,
) -> anyhow::Result<StartTimes> {
    let before = cpu()?.children_secs;
    let mut walls = Vec::new();
    for _ in 0..TIMES {
        let new = tempfile::tempdir()?;
        let folder = folder.unwrap_or(new.path());
        walls.push(run_once(program, arguments, folder)?);
    }
    let cpu_secs = cpu()?.children_secs - before;
    Ok(StartTimes {
        wall_ms: median(walls),
        cpu_ms: cpu_secs * 1e3 / f64::from(TIMES),
    })
}

/// Returns the milliseconds of one run, from the start until its output ends.
fn run_once(program: &Path, arguments: &[&str], folder: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let output = command(program, arguments, folder).output()?;
    let wall_ms = began.elapsed().as_secs_f64() * 1e3;
    ensure!(
        output.status.success() && !output.stdout.is_empty(),
        "{arguments:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(wall_ms)
}

fn command(program: &Path, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the resident memory in MiB of `run -` that is fully started and waits for its message.
fn idle_mib(program: &Path) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut child = command(program, &["run", "-"], folder.path())
        .stdin(Stdio::piped())
        .spawn()?;
    let settled = settled_kib(&mut child);
    // Without a message the program exits with an error, which nobody reads.
    drop(child.stdin.take());
    child.wait()?;
    Ok(settled? / 1024.0)
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells that a process waits for its input; its memory has to be watched until it rests"
)]
fn settled_kib(child: &mut Child) -> anyhow::Result<f64> {
    let process = child.id().to_string();
    let (mut last, mut same) = (0.0, 0);
    while same < SAME_LOOKS {
        std::thread::sleep(POLL_INTERVAL);
        ensure!(
            child.try_wait()?.is_none(),
            "`run -` did not wait for its input"
        );
        let now = status_kib(&process, "VmRSS")?;
        same = if (now - last).abs() < 1.0 {
            same + 1
        } else {
            0
        };
        last = now;
    }
    Ok(last)
}
