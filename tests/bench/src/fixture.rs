//! Provides a store and the triage around it, built as in `worker/cli/src/wiring.rs` but without a configuration file.
//! The module also makes messages that differ in the names of finding and resource.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, ReadOptions, read_message};
use nightshift_analyst::model::{ModelAnalyst, ModelSettings, PerQuestion};
use nightshift_analyst::playbook::{PlaybookAnalyst, PlaybookSet};
use nightshift_engine::event::AnalystKind;
use nightshift_engine::key::{KeyLocation, KeySource};
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{Analyst, Clock, Meter, NoMeter, PastCases};
use nightshift_engine::strategy::TriageOptions;
use nightshift_llm::chat::ChatModel;
use nightshift_llm::{ModelConfig, ModelRegistry};
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::profile::{Profile, Profiles};
use nightshift_pipeline::report::ReportProducer;
use nightshift_pipeline::route::Routes;
use nightshift_pipeline::triage::Triage;
use nightshift_store::{SqlStore, SqliteOptions, Store};
use nightshift_tools::{ConfiguredToolbox, ToolConfig};
use serde_json::json;
use tempfile::TempDir;

/// Number of messages that are committed together.
const BATCH: usize = 64;
/// Tokens that the program reserves for a question before it is asked.
const RESERVED: (u64, u32) = (8_000, 2_000);

/// A sample, and the names in it that distinguish one finding from another.
pub(crate) struct SampleKind {
    pub(crate) name: &'static str,
    file: &'static str,
    finding: &'static str,
    resource: &'static str,
}

/// A crypto miner that SCC found.
pub(crate) const MINER: SampleKind = SampleKind {
    name: "miner",
    file: "scc-crypto-miner.json",
    finding: "b9c8d7e6f5a4b3c2d1e0",
    resource: "web-server-prod-01",
};

/// Credentials that GuardDuty saw used elsewhere.
pub(crate) const EXFILTRATION: SampleKind = SampleKind {
    name: "exfiltration",
    file: "guardduty-eventbridge-credential-exfiltration.json",
    finding: "a4c9b1d2e3f405162738495a6b7c8d9e",
    resource: "i-0a1b2c3d4e5f60718",
};

impl SampleKind {
    /// Returns `many` messages, each about another finding on another resource.
    pub(crate) fn messages(&self, many: u32) -> anyhow::Result<Vec<Vec<u8>>> {
        let text = std::fs::read_to_string(crate::parse::samples().join(self.file))?;
        ensure!(
            text.contains(self.finding) && text.contains(self.resource),
            "{}: another sample",
            self.file
        );
        let one = |number: u32| {
            let finding = format!("{number:0width$x}", width = self.finding.len());
            let resource = format!("i-{number:017x}");
            text.replace(self.finding, &finding)
                .replace(self.resource, &resource)
                .into_bytes()
        };
        Ok((0..many).map(one).collect())
    }
}

/// Creates a folder beside the program. A temporary one may be in memory, and commits must reach a disk.
pub(crate) fn folder() -> anyhow::Result<TempDir> {
    let program = std::env::current_exe()?;
    let beside: PathBuf = program.parent().unwrap_or(Path::new(".")).to_owned();
    Ok(tempfile::tempdir_in(beside)?)
}

/// The duration of a lease.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Returns a policy without storms, because the measured alerts of one type must each have a case.
pub(crate) fn no_storms() -> AdmissionPolicy {
    AdmissionPolicy {
        storm_cases: u32::MAX,
        ..AdmissionPolicy::default()
    }
}

/// A store, and the triage of its cases.
pub(crate) struct TriageBench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) triage: Triage,
}

impl TriageBench {
    /// Creates a fixture in this folder, with these tools and those that need no configuration. Without a model,
    /// playbooks answer.
    pub(crate) fn new(
        folder: &Path,
        configs: Vec<ToolConfig>,
        modelled: Option<ModelProfile>,
    ) -> anyhow::Result<Self> {
        let store = SqlStore::open_sqlite(&SqliteOptions {
            blobs: None,
            path: folder.join("nightshift.db"),
            lease: LEASE,
            admission: no_storms(),
        })?;
        Self::with_store(Arc::new(store), folder, configs, modelled)
    }

    /// Creates a fixture over another store.
    pub(crate) fn with_store(
        store: Arc<dyn Store>,
        folder: &Path,
        mut configs: Vec<ToolConfig>,
        modelled: Option<ModelProfile>,
    ) -> anyhow::Result<Self> {
        for kind in ["indicator_facts", "watchlist", "past_cases"] {
            configs.push(serde_json::from_value(json!({"kind": kind, "name": kind}))?);
        }
        let past: Arc<dyn PastCases> = store.clone();
        let playbooks = Arc::new(PlaybookSet::load(None)?);
        let playbook = Arc::new(PlaybookAnalyst::new(Arc::clone(&playbooks)));
        let mut profile = Profile {
            name: "default".to_owned(),
            analyst: playbook.clone(),
            fallback: None,
            analyst_kind: AnalystKind::Playbook,
            models: Vec::new(),
            reserve: Cost::default(),
            toolbox: Arc::new(ConfiguredToolbox::build(&configs, past, folder)?),
            exonerator: playbook.clone(),
            actions: playbooks.catalogue().into(),
            limits: TriageLimits::default(),
            conduct: TriageOptions::default(),
            prompts: String::new(),
        };
        if let Some(modelled) = modelled {
            profile.analyst = modelled.analyst;
            profile.fallback = Some(playbook);
            profile.analyst_kind = AnalystKind::Model;
            profile.models = vec![modelled.name];
            profile.reserve = modelled.reserve;
        }
        let triage = Triage {
            recheck_every: None,
            cases: store.clone(),
            profiles: Profiles::new([profile]).context("the profile is the default one")?,
            routes: Arc::new(Routes::default()),
            clock: Arc::new(HostClock),
            meter: Arc::new(NoMeter),
            day_budget: None,
            watcher: None,
            sender: ReportProducer {
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            announcer: None,
            without_models: false,
            models_are_up: false,
        };
        Ok(Self { store, triage })
    }

    /// Reads messages and commits their alerts.
    pub(crate) async fn accept_messages(&self, messages: &[Vec<u8>]) -> anyhow::Result<()> {
        for batch in messages.chunks(BATCH) {
            let mut arrivals = Vec::new();
            for message in batch {
                let alerts = read_message(message, &ReadOptions::default())?.alerts;
                arrivals.extend(alerts.into_iter().map(|alert| self.arrival(alert, message)));
            }
            self.store.accept(arrivals.into()).await?;
        }
        Ok(())
    }

    /// Returns an alert as intake passes it on.
    pub(crate) fn arrival(&self, alert: Alert, message: &[u8]) -> Arrival {
        Arrival {
            source: "bench".to_owned(),
            at: self.triage.clock.now(),
            alert: Arc::new(alert),
            raw: message.into(),
            unreadable: None,
            on_demand: false,
            link: None,
        }
    }
}

/// An analyst that asks a model, with the settings of its profile.
pub(crate) struct ModelProfile {
    pub(crate) analyst: Arc<dyn Analyst>,
    name: String,
    reserve: Cost,
}

impl ModelProfile {
    /// Returns an analyst with this model and all its layers.
    pub(crate) fn new(config: &ModelConfig) -> anyhow::Result<Self> {
        let models = connect(config)?;
        let (input, output) = RESERVED;
        Ok(Self {
            analyst: Arc::new(analyst(models.chain(&[&config.name])?)?),
            name: config.full_name(),
            reserve: models.reserve(&[&config.name], input, output)?,
        })
    }
}

/// Connects one model as the program does.
pub(crate) fn connect(config: &ModelConfig) -> anyhow::Result<ModelRegistry> {
    let keys = |place: KeyLocation<'_>| -> Result<KeySource, String> {
        let KeyLocation::Value(key) = place else {
            return Err("the fake's key stands in the configuration".to_owned());
        };
        Ok(Arc::new(move || Ok(key.clone())))
    };
    let meter: Arc<dyn Meter> = Arc::new(NoMeter);
    Ok(ModelRegistry::build(
        std::slice::from_ref(config),
        &keys,
        &meter,
        None,
    )?)
}

/// Returns the analyst that asks this model, with the shipped playbooks as hints.
pub(crate) fn analyst(model: Arc<dyn ChatModel>) -> anyhow::Result<ModelAnalyst> {
    let playbooks = Arc::new(PlaybookSet::load(None)?);
    Ok(ModelAnalyst::new(
        PerQuestion::same_for_all(model),
        ModelSettings::default(),
        Some(playbooks),
    ))
}

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
