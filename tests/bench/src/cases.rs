//! Measures whole cases in this process: read, accepted, triaged by playbook, concluded and committed to SQLite.
//!
//! Only the sources are left out: a case starts with the bytes of a message and ends with a report on disk. The cases
//! differ in the names of finding and resource and share their far ends, like those of one campaign.

use std::time::Instant;

use anyhow::ensure;
use nightshift_engine::driver::CaseEnd;
use nightshift_engine::state::CaseState;
use nightshift_pipeline::case::Lane;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::figure::Figure;
use crate::fixture::{EXFILTRATION, MINER, SampleKind, TriageBench, folder};
use crate::process::{cpu, runtime, status_kib};
use crate::registers::{logs, registers};

/// Number of cases of each kind.
const CASES: u32 = 500;
/// Number of concurrent cases: the default of `[worker] max_cases`.
const MAX_CASES: usize = 64;

/// Measures cases per second and CPU per case: with tools that need no configuration, with registers, and with logs
/// too.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for kind in [&MINER, &EXFILTRATION] {
        for tools in ["bare", "registers", "logs"] {
            figures.extend(measure_kind(kind, tools)?);
        }
    }
    let peak = status_kib("self", "VmHWM")? / 1024.0;
    figures.push(Figure::new(
        "RSS at its peak, all of the above",
        peak,
        "MiB",
    ));
    Ok(figures)
}

fn measure_kind(kind: &SampleKind, tools: &str) -> anyhow::Result<Vec<Figure>> {
    let folder = folder()?;
    let configs = match tools {
        "bare" => Vec::new(),
        "registers" => registers(folder.path())?,
        _ => [registers(folder.path())?, logs(folder.path())?].concat(),
    };
    let messages = kind.messages(CASES)?;
    let runtime = runtime()?;
    let (secs, cpu_secs) = runtime.block_on(async {
        let world = TriageBench::new(folder.path(), configs, None)?;
        let (began, before) = (Instant::now(), cpu()?.own_secs);
        world.accept_messages(&messages).await?;
        let concluded = conclude_all(&world, MAX_CASES).await?.len();
        let spent = (began.elapsed().as_secs_f64(), cpu()?.own_secs - before);
        ensure!(
            concluded == messages.len(),
            "{concluded} of {CASES} cases were concluded"
        );
        Ok::<_, anyhow::Error>(spent)
    })?;
    let name = |what| format!("{}, {tools}, {what}", kind.name);
    let cases = f64::from(CASES);
    Ok(vec![
        Figure::new(name("CPU"), cpu_secs * 1e3 / cases, "ms/case"),
        Figure::new(name("rate"), cases / secs, "cases/s"),
    ])
}

/// Triages all stored alerts, up to `max_cases` at a time. Returns the states of the concluded cases.
pub(crate) async fn conclude_all(
    world: &TriageBench,
    max_cases: usize,
) -> anyhow::Result<Vec<CaseState>> {
    let release = CancellationToken::new();
    let mut running = JoinSet::new();
    let mut concluded = Vec::new();
    loop {
        let room = max_cases.saturating_sub(running.len());
        for claimed in world.store.claim(Lane::Any, room).await? {
            let (triage, release) = (world.triage.clone(), release.clone());
            running.spawn(async move { triage.run(claimed, &release).await });
        }
        let Some(ended) = running.join_next().await else {
            return Ok(concluded);
        };
        if let CaseEnd::Concluded(state) = ended?? {
            ensure!(!state.steps().is_empty(), "a case had no steps");
            concluded.push(*state);
        }
    }
}
