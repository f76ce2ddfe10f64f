//! Measures memory with many open cases that all wait for the model.
//!
//! Each case has its plan and the results of its steps, and waits for its conclusion. The measured process is
//! separate, so that no other group has enlarged it. It runs on the PostgreSQL of `tests/services` and counts
//! connections, or on SQLite if there is none.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use nightshift_llm::ModelProvider;
use nightshift_pipeline::case::Lane;
use nightshift_store::StoreOptions;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::figure::Figure;
use crate::fixture::{LEASE, MINER, ModelProfile, TriageBench, folder, no_storms};
use crate::model::fake::FakeModelProcess;
use crate::model::script::CaseShape;
use crate::process::{runtime, status_kib};
use crate::worker::{Database, service};

/// The argument that makes this program the measured process.
pub(crate) const ARGUMENT: &str = "open-cases";
/// Latency of the last request. It is longer than `PATIENCE` and shorter than the limit of a request, so that no
/// request ends before the measurement. A busy machine needs minutes for a thousand cases.
const LAST: Duration = Duration::from_secs(290);
/// Time limit until all cases wait.
const WAIT_TIMEOUT: Duration = Duration::from_secs(270);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Measures with 100 and with 1,000 cases.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (cases, most) in [(100, 64.0), (1_000, 250.0)] {
        let output = Command::new(std::env::current_exe()?)
            .args([ARGUMENT, &cases.to_string()])
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let told = String::from_utf8(output.stdout)?;
        let mut told = told.split_whitespace().map(str::parse);
        let mib: f64 = told.next().context("it says nothing")??;
        let name = format!("RSS, {cases} cases wait");
        figures.push(Figure::new(name, mib, "MiB").at_most(most));
        if let Some(connections) = told.next() {
            let name = format!("connections, {cases} cases wait");
            figures.push(Figure::new(name, connections?, "connections").at_most(10.0));
        }
    }
    Ok(figures)
}

/// Runs as the measured process: opens `cases` cases and waits until all of them wait. The process prints its memory in
/// MiB and, on PostgreSQL, its connections.
pub(crate) fn serve(arguments: &[String]) -> anyhow::Result<()> {
    let [cases] = arguments else {
        anyhow::bail!("how many cases?");
    };
    let cases: u32 = cases.parse()?;
    let mut fake = FakeModelProcess::start(CaseShape::Independent, Duration::ZERO, LAST)?;
    let folder = folder()?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let modelled = ModelProfile::new(&fake.config(ModelProvider::Anthropic))?;
        let database = match service("POSTGRES") {
            Some(server) => Some(Database::new(&server).await?),
            None => None,
        };
        let world = match &database {
            None => TriageBench::new(folder.path(), Vec::new(), Some(modelled))?,
            Some(database) => {
                let options = StoreOptions::new(LEASE, no_storms());
                let store = nightshift_store::open(&database.url, options).await?;
                TriageBench::with_store(store, folder.path(), Vec::new(), Some(modelled))?
            }
        };
        world.accept_messages(&MINER.messages(cases)?).await?;
        let release = CancellationToken::new();
        let mut running = JoinSet::new();
        loop {
            let claimed = world.store.claim(Lane::Any, 200).await?;
            if claimed.is_empty() {
                break;
            }
            for one in claimed {
                let (triage, release) = (world.triage.clone(), release.clone());
                running.spawn(async move { triage.run(one, &release).await.map(drop) });
            }
        }
        wait(&mut fake, cases).await?;
        print!("{:.1}", status_kib("self", "VmRSS")? / 1024.0);
        if let Some(database) = &database {
            print!(" {}", database.connections().await?);
        }
        println!();
        anyhow::Ok(())
    })?;
    runtime.shutdown_background();
    Ok(())
}

/// Waits until every case has its last request under way: the plan, two turns for each of three steps, and the
/// conclusion. There may be more requests, because those whose connection was refused under load are repeated.
async fn wait(fake: &mut FakeModelProcess, cases: u32) -> anyhow::Result<()> {
    let began = tokio::time::Instant::now();
    let mut looks = tokio::time::interval(POLL_INTERVAL);
    loop {
        looks.tick().await;
        let counted = fake.request_counts()?;
        if counted.in_flight == cases && counted.accepted >= cases * 8 {
            return Ok(());
        }
        ensure!(
            began.elapsed() < WAIT_TIMEOUT,
            "after {WAIT_TIMEOUT:?} only {} of {cases} cases wait; {} requests came",
            counted.in_flight,
            counted.accepted
        );
    }
}
