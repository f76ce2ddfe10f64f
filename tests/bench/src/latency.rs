//! Measures how much longer a case takes than its model. Cases arrive over two seconds, the model takes half a
//! second, and the wall time of each case is divided by that of its critical path.

mod wire;
mod yardstick;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use nightshift_engine::driver::CaseEnd;
use nightshift_engine::state::CaseState;
use nightshift_llm::ModelProvider;
use nightshift_pipeline::case::Lane;
use nightshift_store::StoreOptions;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::figure::{Figure, median, quantile};
use crate::fixture::{LEASE, MINER, ModelProfile, TriageBench, folder, no_storms};
use crate::model::fake::FakeModelProcess;
use crate::model::script::CaseShape;
use crate::process::{cpu, runtime};
use crate::registers::registers;
use crate::worker::{Database, service};

/// Unmeasured cases at the start. A worker runs for weeks; only its first cases compile patterns, prepare statements
/// and connect.
const WARM_UP_CASES: u32 = 50;

/// The argument that makes this program run such cases only, for a profiler.
pub(crate) const ARGUMENT: &str = "twelve-calls";

/// The arrival of cases.
#[derive(Clone, Copy)]
struct Load {
    /// Number of measured cases.
    cases: u32,
    /// Interval between arrivals.
    every: Duration,
    /// Maximum number of concurrent cases.
    max_cases: usize,
    /// Latency of the model.
    latency: Duration,
}

/// The load of the limits: a hundred cases within two seconds, a model of half a second.
const LIMITS: Load = Load {
    cases: 100,
    every: Duration::from_millis(20),
    max_cases: 200,
    latency: Duration::from_millis(500),
};
/// The load that saturates the cores with a model that answers at once, so that no thread waits to be woken.
const BUSY: Load = Load {
    cases: 300,
    every: Duration::from_millis(1),
    max_cases: 20,
    latency: Duration::ZERO,
};

/// Measures the case of three steps and the case of twelve model calls.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut measured = vec![
        (CaseShape::Independent, 8, None, "SQLite"),
        (CaseShape::Twelve, 12, None, "SQLite"),
    ];
    match service("POSTGRES") {
        Some(server) => measured.push((CaseShape::Twelve, 12, Some(server), "PostgreSQL")),
        None => eprintln!("latency: not measured on PostgreSQL; tests/services starts one"),
    }
    for (shape, calls, server, store) in measured {
        let ran = LoadRun::measure(shape, calls, server.as_deref(), LIMITS)?;
        let ratios = ran.ratios(shape, LIMITS);
        let name = |what: &str| format!("{calls} calls, {store}, {what}");
        let per_case = Figure::new(name("CPU"), ran.cpu_ms, "ms/case");
        figures.extend([
            Figure::new(name("wall / model, median"), median(ratios.clone()), "x").at_most(1.10),
            Figure::new(name("wall / model, p95"), quantile(ratios, 0.95), "x").at_most(1.25),
            if store == "PostgreSQL" {
                per_case.at_most(5.0)
            } else {
                per_case
            },
        ]);
        if let Some(connections) = ran.connections {
            let figure = Figure::new(name("connections"), connections, "connections");
            figures.push(figure.at_most(10.0));
        }
        if let Some(server) = server {
            let busy = LoadRun::measure(shape, calls, Some(&server), BUSY)?;
            figures.extend([
                Figure::new(name("CPU where cores are busy"), busy.cpu_ms, "ms/case"),
                Figure::new(
                    name("CPU of the wire alone"),
                    wire::cpu_ms(&server)?,
                    "ms/case",
                ),
            ]);
            if let Some(python) = service("LANGGRAPH_PYTHON") {
                figures.extend(yardstick::measure(&python)?);
            }
        }
    }
    Ok(figures)
}

/// Runs cases of twelve calls on PostgreSQL at a fixed interval, and prints the CPU and time per case.
pub(crate) fn serve(arguments: &[String]) -> anyhow::Result<()> {
    let (cases, every_ms, load) = match arguments {
        [cases, every_ms] => (cases, every_ms, LIMITS),
        [cases, every_ms, busy] if busy == "busy" => (cases, every_ms, BUSY),
        _ => anyhow::bail!(
            "how many cases, how many milliseconds from one to the next, and `busy` for a model that answers at once?"
        ),
    };
    let load = Load {
        cases: cases.parse()?,
        every: Duration::from_millis(every_ms.parse()?),
        ..load
    };
    let server = service("POSTGRES").context("tests/services starts a server")?;
    let ran = LoadRun::measure(CaseShape::Twelve, 12, Some(&server), load)?;
    let ratios = ran.ratios(CaseShape::Twelve, LIMITS);
    println!(
        "{:.2} ms/case, {:.2} of it the system's; wall / model {:.3}, p95 {:.3}",
        ran.cpu_ms,
        ran.system_ms,
        median(ratios.clone()),
        quantile(ratios, 0.95)
    );
    Ok(())
}

/// The results of a load.
struct LoadRun {
    /// Seconds from arrival to conclusion of each case.
    walls: Vec<f64>,
    /// Nightshift's own CPU per case, in milliseconds.
    cpu_ms: f64,
    /// The system part of it.
    system_ms: f64,
    /// Connections to the database at the end. They are kept once they are made.
    connections: Option<f64>,
}

impl LoadRun {
    /// Returns for each case the wall time divided by that of the model alone.
    fn ratios(&self, shape: CaseShape, load: Load) -> Vec<f64> {
        let path = f64::from(shape.critical_path()) * load.latency.as_secs_f64();
        self.walls.iter().map(|secs| secs / path).collect()
    }

    fn measure(
        shape: CaseShape,
        calls: u32,
        server: Option<&str>,
        load: Load,
    ) -> anyhow::Result<Self> {
        let mut fake = FakeModelProcess::start(shape, load.latency, Duration::ZERO)?;
        let folder = folder()?;
        let runtime = runtime()?;
        let ran = runtime.block_on(async {
            let modelled = ModelProfile::new(&fake.config(ModelProvider::Anthropic))?;
            let registers = registers(folder.path())?;
            let mut database = None;
            let world = match server {
                None => TriageBench::new(folder.path(), registers, Some(modelled))?,
                Some(server) => {
                    let made = database.insert(Database::new(server).await?);
                    let options = StoreOptions::new(LEASE, no_storms());
                    let store = nightshift_store::open(&made.url, options).await?;
                    TriageBench::with_store(store, folder.path(), registers, Some(modelled))?
                }
            };
            let mut messages = MINER.messages(WARM_UP_CASES + load.cases)?;
            let measured = messages.split_off(WARM_UP_CASES.try_into()?);
            let world = Arc::new(world);
            spawn_and_join(arrive(Arc::clone(&world), messages, load)).await?;
            let before = cpu()?;
            let walls = spawn_and_join(arrive(Arc::clone(&world), measured, load)).await?;
            let after = cpu()?;
            let of_a_case = |secs: f64| secs * 1e3 / f64::from(load.cases);
            let connections = match &database {
                Some(database) => Some(f64::from(u32::try_from(database.connections().await?)?)),
                None => None,
            };
            drop(world);
            anyhow::Ok(Self {
                walls,
                cpu_ms: of_a_case(after.own_secs - before.own_secs),
                system_ms: of_a_case(after.system_secs - before.system_secs),
                connections,
            })
        })?;
        let asked = fake.request_counts()?.accepted;
        ensure!(
            asked == calls * (WARM_UP_CASES + load.cases),
            "{asked} model calls, where {calls} for each of {WARM_UP_CASES} and {} cases were meant",
            load.cases
        );
        Ok(ran)
    }
}

/// Runs work as a separate task beside the cases, as the program does, and not on the thread that waits for all of
/// them.
async fn spawn_and_join<T: Send + 'static>(
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    let mut one = JoinSet::new();
    one.spawn(work);
    one.join_next().await.context("it was spawned")??
}

/// Takes in one message per interval and triages it at once. Returns the seconds that each case took.
async fn arrive(
    world: Arc<TriageBench>,
    messages: Vec<Vec<u8>>,
    load: Load,
) -> anyhow::Result<Vec<f64>> {
    let release = CancellationToken::new();
    let mut ticks = tokio::time::interval(load.every);
    let mut waiting: VecDeque<&Vec<u8>> = messages.iter().collect();
    let mut arrived: VecDeque<Instant> = VecDeque::new();
    let mut running = JoinSet::new();
    let mut walls = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        tokio::select! {
            tick = ticks.tick(), if !waiting.is_empty() => {
                arrived.push_back(tick.into_std());
                if let Some(message) = waiting.pop_front() {
                    world.accept_messages(std::slice::from_ref(message)).await?;
                }
            }
            Some(ended) = running.join_next(), if !running.is_empty() => walls.push(wall(ended??)?),
        }
        let room = load.max_cases.saturating_sub(running.len());
        if arrived.is_empty() {
            continue;
        }
        for claimed in world.store.claim(Lane::Any, room).await? {
            let since = arrived
                .pop_front()
                .context("a case arrived before it is claimed")?;
            let (triage, release) = (world.triage.clone(), release.clone());
            running.spawn(async move {
                let end = triage.run(claimed, &release).await?;
                anyhow::Ok((end, since.elapsed().as_secs_f64()))
            });
        }
    }
    Ok(walls)
}

fn wall((end, secs): (CaseEnd, f64)) -> anyhow::Result<f64> {
    let whole = |state: &CaseState| state.degraded.is_empty();
    match end {
        CaseEnd::Concluded(state) if whole(&state) => Ok(secs),
        _ => anyhow::bail!("a case was not concluded by its model"),
    }
}
