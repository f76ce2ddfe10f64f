//! Memory with many cases open that all wait on the model: each has its plan, its steps' results and one request under
//! way, the conclusion. Measured in a process of its own, which no other group has made larger; on the PostgreSQL of
//! `tests/services`, with its connections, or on SQLite where there is none.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use nightshift_llm::Provider;
use nightshift_pipeline::Lane;
use nightshift_store::Options;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::figure::Figure;
use crate::model::fake::Fake;
use crate::model::script::Shape;
use crate::process::{runtime, status_kib};
use crate::worker::{Database, service};
use crate::world::{LEASE, MINER, Modelled, World, folder, no_storms};

/// The argument that makes this program the process that is measured.
pub(crate) const ARGUMENT: &str = "open-cases";
/// Longer than all cases may take until they wait, and shorter than a request may take: none is answered or given up
/// before. A busy machine needs minutes for a thousand cases.
const LAST: Duration = Duration::from_secs(290);
/// How long all cases may take until they wait.
const PATIENCE: Duration = Duration::from_secs(270);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// With 100 and with 1,000 cases.
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

/// Is that process: opens so many cases, waits until all of them wait, and prints its memory in MiB and, on PostgreSQL, its
/// connections.
pub(crate) fn serve(arguments: &[String]) -> anyhow::Result<()> {
    let [cases] = arguments else {
        anyhow::bail!("how many cases?");
    };
    let cases: u32 = cases.parse()?;
    let mut fake = Fake::start(Shape::Independent, Duration::ZERO, LAST)?;
    let folder = folder()?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let modelled = Modelled::new(&fake.config(Provider::Anthropic))?;
        let database = match service("POSTGRES") {
            Some(server) => Some(Database::new(&server).await?),
            None => None,
        };
        let world = match &database {
            None => World::new(folder.path(), Vec::new(), Some(modelled))?,
            Some(database) => {
                let options = Options::new(LEASE, no_storms());
                let store = nightshift_store::open(&database.url, options).await?;
                World::over(store, folder.path(), Vec::new(), Some(modelled))?
            }
        };
        world.take_in(&MINER.messages(cases)?).await?;
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

/// Waits until every case has its last request under way: two turns for each of three steps, the plan, and that one. A
/// request whose connection was refused, because thousands come at once, is made again: there may be more.
async fn wait(fake: &mut Fake, cases: u32) -> anyhow::Result<()> {
    let began = tokio::time::Instant::now();
    let mut looks = tokio::time::interval(LOOK);
    loop {
        looks.tick().await;
        let counted = fake.counted()?;
        if counted.in_flight == cases && counted.accepted >= cases * 8 {
            return Ok(());
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "after {PATIENCE:?} only {} of {cases} cases wait; {} requests came",
            counted.in_flight,
            counted.accepted
        );
    }
}
