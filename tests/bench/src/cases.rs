//! Whole cases in this process: read, accepted, triaged by playbook, concluded and committed to SQLite.
//!
//! Nothing here is shortened but the sources: a message's bytes go in, a report is on disk. The cases differ in the
//! names of finding and resource and share their far ends, as those of one campaign do.

use anyhow::Context;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use chrono::{DateTime, Utc};
use nightshift_alert::{ReadOptions, read};
use nightshift_analyst::playbook::{PlaybookAnalyst, Playbooks};
use nightshift_engine::{AnalystKind, Clock, Cost, End, Limits, NoMeter, PastCases};
use nightshift_pipeline::{
    AdmissionPolicy, Arrival, Cases, Inbox, Lane, Profile, Profiles, Routes, Sender, Triage,
};
use nightshift_store::{SqliteOptions, SqliteStore};
use nightshift_tools::{ToolConfig, Tools};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::figure::Figure;
use crate::process::{cpu, status_kib};
use crate::registers::{logs, registers};

/// Cases of each kind.
const CASES: u32 = 500;
/// Cases that run together: the default of `[worker] max_cases`.
const MAX_CASES: usize = 64;
/// Messages that are committed together.
const BATCH: usize = 64;

/// A sample, and the names in it that make one finding differ from another.
struct Kind {
    name: &'static str,
    file: &'static str,
    finding: &'static str,
    resource: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "miner",
        file: "scc-crypto-miner.json",
        finding: "b9c8d7e6f5a4b3c2d1e0",
        resource: "web-server-prod-01",
    },
    Kind {
        name: "exfiltration",
        file: "guardduty-eventbridge-credential-exfiltration.json",
        finding: "a4c9b1d2e3f405162738495a6b7c8d9e",
        resource: "i-0a1b2c3d4e5f60718",
    },
];

/// Cases per second and CPU per case: with the tools that need no configuration, with registers, and with logs too.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for kind in &KINDS {
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

fn measure_kind(kind: &Kind, tools: &str) -> anyhow::Result<Vec<Figure>> {
    // Beside the program and not in a temporary folder, which may be in memory: commits shall reach a disk.
    let program = std::env::current_exe()?;
    let folder = tempfile::tempdir_in(program.parent().unwrap_or(Path::new(".")))?;
    let configs = match tools {
        "bare" => Vec::new(),
        "registers" => registers(folder.path())?,
        _ => [registers(folder.path())?, logs(folder.path())?].concat(),
    };
    let messages = messages(kind)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let (secs, cpu_secs) = runtime.block_on(async {
        let (store, triage) = wire(folder.path(), configs)?;
        let (began, before) = (Instant::now(), cpu()?.own_secs);
        let concluded = work(&store, &triage, messages).await?;
        let spent = (began.elapsed().as_secs_f64(), cpu()?.own_secs - before);
        ensure!(
            concluded == CASES,
            "{concluded} of {CASES} cases were concluded"
        );
        Ok::<_, anyhow::Error>(spent)
    })?;
    let name = |what| format!("{}, {tools}, {what}", kind.name);
    let cases = f64::from(CASES);
    Ok(vec![
        Figure::new(name("CPU"), cpu_secs * 1e3 / cases, "ms/case").at_most(5.0),
        Figure::new(name("rate"), cases / secs, "cases/s"),
    ])
}

/// As many messages as cases, each about another finding on another resource.
fn messages(kind: &Kind) -> anyhow::Result<Vec<Vec<u8>>> {
    let text = std::fs::read_to_string(crate::parse::samples().join(kind.file))?;
    ensure!(
        text.contains(kind.finding) && text.contains(kind.resource),
        "{}: another sample",
        kind.file
    );
    let one = |number: u32| {
        let finding = format!("{number:0width$x}", width = kind.finding.len());
        let resource = format!("i-{number:017x}");
        text.replace(kind.finding, &finding)
            .replace(kind.resource, &resource)
            .into_bytes()
    };
    Ok((0..CASES).map(one).collect())
}

/// What `worker/cli/src/wiring.rs` puts together, without a configuration file.
fn wire(folder: &Path, mut configs: Vec<ToolConfig>) -> anyhow::Result<(SqliteStore, Triage)> {
    let store = SqliteStore::open(&SqliteOptions {
        path: folder.join("nightshift.db"),
        lease: Duration::from_secs(30),
        // A storm of one type is what is measured here: every alert has its own case.
        admission: AdmissionPolicy {
            storm_cases: u32::MAX,
            ..AdmissionPolicy::default()
        },
    })?;
    for kind in ["indicator_facts", "watchlist", "past_cases"] {
        configs.push(serde_json::from_value(json!({"kind": kind, "name": kind}))?);
    }
    let past: Arc<dyn PastCases> = Arc::new(store.clone());
    let playbooks = Arc::new(Playbooks::load(None)?);
    let analyst = Arc::new(PlaybookAnalyst::new(Arc::clone(&playbooks)));
    let profile = Profile {
        name: "default".to_owned(),
        analyst: analyst.clone(),
        fallback: None,
        analyst_kind: AnalystKind::Playbook,
        models: Vec::new(),
        reserve: Cost::default(),
        toolbox: Arc::new(Tools::build(&configs, past, folder)?),
        exonerator: analyst,
        actions: playbooks.catalogue().into(),
        limits: Limits::default(),
        conduct: nightshift_engine::Conduct::default(),
        prompts: String::new(),
    };
    let triage = Triage {
        cases: Arc::new(store.clone()),
        profiles: Profiles::new([profile]).context("the profile is the default one")?,
        routes: Arc::new(Routes::default()),
        clock: Arc::new(HostClock),
        meter: Arc::new(NoMeter),
        purse: None,
        watcher: None,
        sender: Sender {
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    };
    Ok((store, triage))
}

/// Takes everything in, then triages it: how many cases were concluded.
async fn work(store: &SqliteStore, triage: &Triage, messages: Vec<Vec<u8>>) -> anyhow::Result<u32> {
    let options = ReadOptions::default();
    for batch in messages.chunks(BATCH) {
        let mut arrivals = Vec::new();
        for message in batch {
            let raw: Arc<[u8]> = message.as_slice().into();
            for alert in read(message, &options)?.alerts {
                arrivals.push(Arrival {
                    source: "bench".to_owned(),
                    at: triage.clock.now(),
                    alert: Box::new(alert),
                    raw: Arc::clone(&raw),
                    unreadable: None,
                    always: false,
                });
            }
        }
        store.accept(arrivals).await?;
    }
    let release = CancellationToken::new();
    let mut running = JoinSet::new();
    let mut concluded = 0;
    loop {
        let room = MAX_CASES.saturating_sub(running.len());
        for claimed in store.claim(Lane::Any, room).await? {
            let (triage, release) = (triage.clone(), release.clone());
            running.spawn(async move { triage.run(claimed, &release).await });
        }
        let Some(ended) = running.join_next().await else {
            return Ok(concluded);
        };
        if let End::Concluded(state) = ended?? {
            ensure!(!state.steps().is_empty(), "a case had no steps");
            concluded += 1;
        }
    }
}

/// The clock of this host.
struct HostClock;

impl Clock for HostClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "leases and journals tell the time; what is measured is not measured with it"
    )]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}
