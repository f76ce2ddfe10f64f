//! Builds the parts of the worker: sources, loops, health of models, gauges, retention.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use chrono::TimeDelta;
use nightshift_engine::event::AnalystKind;
use nightshift_engine::port::{Clock, Toolbox as _};
use nightshift_pipeline::budget::DayBudget;
use nightshift_pipeline::case::OutageWait;
use nightshift_pipeline::intake::{BatchOrder, Intake};
use nightshift_pipeline::loops::{
    DeliveryLoop, DigestPlan, InboxCapacity, IngestLoop, MonitoredInbox, Outage, RegisterWatch,
    TriageLoop,
};
use nightshift_pipeline::maintenance::StoreMaintenance;
use nightshift_pipeline::port::{Destination, Source, StoreError};
use nightshift_web::{HttpIntake, Server, SourceReadiness};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::destinations::DestinationBuilder;
use super::gauges::GaugeLoop;
use super::models::ModelsInUse;
use super::{App, Overrides};
use crate::config::RetentionConfig;
use crate::exit::Exit;
use crate::metrics::ConfiguredNames;

/// Maximum number of messages of a batch. A larger one is hardly faster, and its first message would wait longer for
/// its ack, behind the two batches before it.
const BATCH: usize = 120;
/// Time between two rounds of retention.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(3_600);
/// A clock that is further ahead than this is logged.
const MAX_CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(1);
/// Rows that are removed at once.
const CLEANUP_BATCH: usize = 500;

/// A part of the worker.
pub(crate) trait WorkerLoop: Send + 'static {
    /// Runs until it is stopped.
    fn run(self, stop: CancellationToken) -> impl Future<Output = ()> + Send;
}

impl App {
    /// Builds the intake loop of a source.
    pub(crate) fn ingest_loop(
        &self,
        source: &Arc<dyn Source>,
        feeds: Option<Vec<String>>,
        room: &Arc<InboxCapacity>,
    ) -> impl WorkerLoop + use<> {
        let mut options = self.read_options();
        let is_posted_to = source.kind() == "http";
        self.metrics.init_source(source.name(), is_posted_to);
        for feed in &options.generic {
            self.metrics.init_feed(&feed.name);
        }
        options.feeds = feeds;
        IngestLoop {
            intake: Intake {
                inbox: Arc::new(MonitoredInbox {
                    inbox: self.store.clone(),
                    capacity: Arc::clone(room),
                }),
                clock: Arc::clone(&self.clock),
                meter: self.metrics.clone(),
                options,
                order: BatchOrder::default(),
                commit_timeout: Duration::MAX,
                canary: self.canary().map(Arc::new),
                severities: Arc::default(),
            },
            source: Arc::clone(source),
            capacity: Arc::clone(room),
            batch: BATCH,
        }
    }

    /// Builds the triage loop. Cases wait for models that are down up to a limit and are then triaged without them.
    pub(crate) fn triage_loop(&self) -> Result<TriageLoop, Exit> {
        let patient = Overrides {
            waits_for_models: true,
            ..Overrides::default()
        };
        let models = self.connect(&patient)?;
        let profiles = &self.config.profiles;
        let asked = ModelsInUse {
            models: models.models().clone(),
            names: models.names_in_use(profiles).map_err(Exit::Config)?,
        };
        self.models_in_use.get_or_init(|| asked);
        let profiles = self.profiles_of(&patient, &models)?;
        let mut triage = self.triage_with(profiles, self.routes.clone(), None);
        triage.announcer = Some(self.store.clone());
        let mut overdue = triage.clone();
        overdue.profiles = self.profiles_of(&Overrides::default(), &models)?;
        overdue.without_models = true;
        let limits = &self.config.limits;
        let outage = models
            .health(&self.config.profiles)
            .map_err(Exit::Config)?
            .map(|health| Outage {
                health,
                overdue,
                waits: OutageWait {
                    urgent: Duration::from_secs(limits.models_down_urgent_wait_secs),
                    others: Duration::from_secs(limits.models_down_wait_secs),
                },
            });
        Ok(TriageLoop {
            triage,
            notifier: self.store.clone(),
            max_cases: self.config.worker.max_cases.max(1),
            lease: Duration::from_secs(self.config.worker.lease_secs),
            outage,
            rechecks: Some(self.store.clone()),
        })
    }

    /// Builds the loop that re-evaluates benign cases when a register changes, or returns `None` if re-evaluation is
    /// off or there is no register.
    pub(crate) fn register_watch(&self) -> Option<impl WorkerLoop + use<>> {
        self.config.recheck_interval()?;
        let tools = self.config.tools.iter();
        let files: Vec<PathBuf> = tools
            .flat_map(|one| one.register_files(&self.base))
            .collect();
        (!files.is_empty()).then(|| RegisterWatch {
            files,
            rechecks: self.store.clone(),
            clock: Arc::clone(&self.clock),
        })
    }

    /// Creates the metric series of triage: ended cases, tool calls, requests to models.
    pub(crate) fn init_triage_metrics(&self) {
        if let Some(asked) = self.models_in_use.get() {
            self.begin_models(&asked.models);
        }
        let options = self.read_options();
        let feeds = options.generic.iter().map(|feed| feed.name.as_str());
        let analysts: &[AnalystKind] = match self.config.models.is_empty() {
            true => &[AnalystKind::Playbook],
            // Playbooks take over when models are down or must not be asked.
            false => &[AnalystKind::Playbook, AnalystKind::Model],
        };
        self.metrics.init_cases(feeds, analysts);
        for tool in self.tools.specs() {
            self.metrics.init_tool(&tool.name);
        }
    }

    /// Limits the metrics to the names of this configuration, after an earlier one.
    pub(crate) fn apply_config_to_metrics(&self) {
        let config = &self.config;
        let sources = || config.sources.iter();
        let read = sources().filter(|one| !one.is_http());
        let destinations = config.destinations.iter();
        let generic = self.read_options().generic;
        self.metrics.apply_config(ConfiguredNames {
            sources: sources().map(|one| one.name().to_owned()).collect(),
            read: read.map(|one| one.name().to_owned()).collect(),
            models: config.models.iter().map(|one| one.full_name()).collect(),
            feeds: generic.into_iter().map(|one| one.name).collect(),
            tools: self.tools.specs().into_iter().map(|one| one.name).collect(),
            destinations: destinations.map(|one| one.name().to_owned()).collect(),
            canary: config.canary.is_enabled(),
            day_cap: DayBudget::new(config.limits.day_usd).map(DayBudget::cap_usd),
        });
        if let Some(purse) = &self.day_budget {
            purse.republish();
        }
    }

    /// Checks whether each destination has its secret, which is read again at each delivery.
    pub(crate) fn check_destinations(&self) -> Result<(), Exit> {
        let building = DestinationBuilder {
            trace_sample_ratio: self.config.traces.ratio(),
            base: &self.base,
            clock: &self.clock,
        };
        for one in &self.config.destinations {
            let checked = building.check_secret(one);
            checked.map_err(|error| Exit::Config(error.into()))?;
        }
        Ok(())
    }

    /// Builds the delivery loops, one per destination.
    pub(crate) fn delivery_loops(&self) -> Vec<impl WorkerLoop + use<>> {
        let holder = uuid::Uuid::new_v4().to_string();
        let handing_on = Arc::new(self.failover());
        for one in &self.destinations {
            self.metrics.init_destination(one.name());
        }
        let each = self.destinations.iter().map(|destination| DeliveryLoop {
            kind: self.kind_of(destination.name()),
            outbox: self.store.clone(),
            destination: Arc::clone(destination),
            failover: Arc::clone(&handing_on),
            notifier: self.store.clone(),
            meter: self.metrics.clone(),
            holder: holder.clone(),
            digest: self.digest_plan(destination.name()),
            canary: self.canary_closer(),
        });
        each.collect()
    }

    /// Returns the destinations of a command that is not a worker, each with its kind.
    pub(crate) fn delivery_targets(&self) -> Vec<(String, Arc<dyn Destination>)> {
        let all = self.destinations.iter();
        all.map(|one| (self.kind_of(one.name()), Arc::clone(one)))
            .collect()
    }

    /// Returns the kind of a destination. One that a command adds is called by its name.
    fn kind_of(&self, name: &str) -> String {
        let mut all = self.config.destinations.iter();
        let found = all.find(|one| one.name() == name);
        found.map_or(name, |one| one.kind()).to_owned()
    }

    /// Returns the daily digest if it is posted at this destination.
    fn digest_plan(&self, destination: &str) -> Option<DigestPlan> {
        let digest = self.config.digest.as_ref()?;
        (digest.destination == destination).then(|| DigestPlan {
            at: digest.post_time(),
            zone: digest.zone(),
            digests: self.store.clone(),
            mutes: self.store.clone(),
            clock: Arc::clone(&self.clock),
            next: AtomicI64::new(0),
        })
    }

    /// Builds the loop that reads the backlog for metrics and the inbox limit. It also shows which models and sources
    /// are down. The triage loop must be built before.
    pub(crate) fn gauge_loop(
        &self,
        room: Arc<InboxCapacity>,
        sources: Vec<Arc<dyn Source>>,
    ) -> impl WorkerLoop + use<> {
        GaugeLoop {
            sources,
            cases: self.store.clone(),
            canaries: self
                .config
                .canary
                .is_enabled()
                .then(|| self.store.clone() as _),
            models: self.models_in_use.get().cloned(),
            day_budget: self.day_budget.clone(),
            meter: self.metrics.clone(),
            inbox_capacity: room,
        }
    }

    /// Builds the loop that removes old data.
    pub(crate) fn retention_loop(&self) -> impl WorkerLoop + use<> {
        RetentionLoop {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            retention: self.config.retention.clone(),
            last_cleanup: Arc::clone(&self.last_cleanup),
        }
    }

    /// Builds the server of the pages and of posted alerts. It is ready when store and sources are.
    pub(crate) fn worker_server(
        &self,
        sources: &[Arc<SourceReadiness>],
        intake: Option<HttpIntake>,
    ) -> Result<Server, Exit> {
        let options = self.web_options()?;
        let mut parts = self.parts();
        for source in sources {
            parts.readiness.push(Arc::clone(source) as _);
        }
        let server = Server::new(options, parts).map_err(|error| Exit::Failed(error.into()))?;
        let server = server.with_slack(self.slack_integration()?);
        Ok(match intake {
            Some(intake) => server.with_intake(intake),
            None => server,
        })
    }
}

impl WorkerLoop for IngestLoop {
    async fn run(self, stop: CancellationToken) {
        Self::run(&self, &stop).await;
    }
}

impl WorkerLoop for RegisterWatch {
    async fn run(self, stop: CancellationToken) {
        Self::run(&self, &stop).await;
    }
}

impl WorkerLoop for DeliveryLoop {
    async fn run(self, stop: CancellationToken) {
        Self::run(&self, &stop).await;
    }
}

/// The time of the last round of retention, which a reload does not repeat: its checkpoint delays other writes.
pub(super) type LastCleanup = Arc<Mutex<Option<Instant>>>;

struct RetentionLoop {
    store: Arc<dyn StoreMaintenance>,
    clock: Arc<dyn Clock>,
    retention: RetentionConfig,
    last_cleanup: LastCleanup,
}

impl WorkerLoop for RetentionLoop {
    async fn run(self, stop: CancellationToken) {
        let last = *self.last_cleanup.lock();
        let first = last.map_or_else(Instant::now, |at| at + CLEANUP_INTERVAL);
        let mut rounds = tokio::time::interval_at(first, CLEANUP_INTERVAL);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = rounds.tick() => {}
            }
            self.expire(&stop).await;
            remove("blobs", &stop, || self.store.sweep()).await;
            if !stop.is_cancelled() {
                *self.last_cleanup.lock() = Some(Instant::now());
            }
        }
    }
}

impl RetentionLoop {
    /// Removes data that is old by the clocks of this host and of the database.
    async fn expire(&self, stop: &CancellationToken) {
        let clock = self.clock.now();
        let now = match self.store.advance_retention_time(clock).await {
            Ok(now) => now,
            Err(error) => return nothing_removed("all", error),
        };
        if clock - now > MAX_CLOCK_DIFFERENCE {
            tracing::warn!(
                %clock, expires_by = %now,
                "the clock is ahead of the last clean-up or of the database; data expires by the earlier time"
            );
        }
        for (kind, before) in self.retention.bounds(now) {
            let expire = || self.store.expire(kind, before, CLEANUP_BATCH);
            remove(kind.as_str(), stop, expire).await;
        }
    }
}

/// Removes batches until nothing is left or the process stops.
async fn remove<F>(what: &str, stop: &CancellationToken, batch: impl Fn() -> F)
where
    F: Future<Output = Result<u64, StoreError>>,
{
    loop {
        let removed = tokio::select! {
            () = stop.cancelled() => return,
            removed = batch() => removed,
        };
        match removed {
            Ok(0) => return,
            Ok(removed) => tracing::debug!(what, removed, "removed expired data"),
            Err(error) => return nothing_removed(what, error),
        }
    }
}

fn nothing_removed(what: &str, error: StoreError) {
    let error = anyhow::Error::from(error);
    tracing::warn!(what, error = format!("{error:#}"), "nothing was removed");
}

#[cfg(test)]
mod tests;
