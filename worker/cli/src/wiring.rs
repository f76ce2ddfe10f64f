//! Wiring builds the adapters behind the ports from a configuration.

mod canary;
mod destinations;
mod doctor;
mod filtered_toolbox;
mod gauges;
mod models;
mod no_wait;
mod orphaned_deliveries;
mod samples;
mod slack;
mod sources;
mod store_identity;
mod web;
mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, anyhow};
use nightshift_alert::{Alert, ReadOptions};
use nightshift_analyst::playbook::{PlaybookAnalyst, PlaybookSet};
use nightshift_engine::event::AnalystKind;
use nightshift_engine::key::{KeyLocation, KeyRef};
use nightshift_engine::limits::Cost;
use nightshift_engine::port::{Analyst, Clock, Meter, PastCase, PastCases, PastQuery, Toolbox};
use nightshift_engine::strategy::Strategy;
use nightshift_engine::tool::ToolSpec;
use nightshift_llm::ModelRegistry;
use nightshift_pipeline::budget::{DayBudget, DayBudgetTracker};
use nightshift_pipeline::port::Destination;
use nightshift_pipeline::profile::{Profile, Profiles};
use nightshift_pipeline::report::ReportProducer;
use nightshift_pipeline::route::{Route, Routes};
use nightshift_pipeline::triage::{Triage, Watcher};
use nightshift_store::{BlobStore, DatabasePassword, Store, StoreOptions};
use nightshift_tools::{ConfiguredToolbox, ToolConfig, ToolTable};
use nightshift_web::SigningKeyCache;
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::clock::SystemClock;
use crate::config::{Config, LoadedConfig, ProfileConfig, secret_reader};
use crate::exit::Exit;
use crate::metrics::Metrics;
pub(crate) use destinations::{build_destinations, remote_link};
pub(crate) use doctor::{
    check_profiles, check_tool_globs, probe_destination, probe_profiles, store_probe_options,
};
pub(crate) use sources::{SourceWithFeeds, Sources, check_sources};
pub(crate) use worker::WorkerLoop;

use filtered_toolbox::FilteredToolbox;
use models::{ConnectedModels, ModelsInUse};
use no_wait::NoWaitAnalyst;
use store_identity::StoreIdentity;
use worker::LastCleanup;

/// The parts that commands work with.
pub(crate) struct App {
    pub(crate) config: Config,
    /// The folder that relative paths start from.
    base: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    store_identity: StoreIdentity,
    signers_keys: SigningKeyCache,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tools: Arc<ConfiguredToolbox>,
    pub(crate) playbooks: Arc<PlaybookSet>,
    pub(crate) routes: Routes,
    pub(crate) destinations: Vec<Arc<dyn Destination>>,
    /// The models of the triage loop, once that is built.
    models_in_use: OnceLock<ModelsInUse>,
    /// The models of the previous configuration.
    previous_models: Option<ModelRegistry>,
    /// The day budget, if there is one.
    day_budget: Option<Arc<DayBudgetTracker>>,
    last_cleanup: LastCleanup,
}

/// Settings that the command line overrides.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Overrides<'a> {
    /// Profile that replaces those of routes.
    pub(crate) profile: Option<&'a str>,
    /// Strategy that replaces that of the profile.
    pub(crate) strategy: Option<Strategy>,
    /// Model for every question.
    pub(crate) model: Option<&'a str>,
    /// True if no model is asked, regardless of the configuration.
    pub(crate) uses_playbook: bool,
    /// True if cases wait for models that are down. Otherwise the playbooks take over at once.
    pub(crate) waits_for_models: bool,
}

impl Overrides<'_> {
    /// Returns the overrides of the demo, which costs nothing and needs no key.
    pub(crate) fn demo() -> Self {
        Self {
            uses_playbook: true,
            ..Self::default()
        }
    }
}

impl App {
    /// Opens or creates the store, and builds all that the configuration names.
    pub(crate) async fn build(loaded: &LoadedConfig) -> Result<Self, Exit> {
        let opened = open_store(loaded, false).await?;
        Self::build_first(opened, loaded)
    }

    /// Builds the application on an existing store. For a query, a new empty store would wrongly say that nothing
    /// arrived.
    pub(crate) async fn build_on_existing(loaded: &LoadedConfig) -> Result<Self, Exit> {
        let opened = open_store(loaded, true).await?;
        Self::build_first(opened, loaded)
    }

    /// Builds the same after an earlier configuration, with the state that stays valid.
    pub(crate) async fn rebuild(loaded: &LoadedConfig, before: &Self) -> Result<Self, Exit> {
        let identity = &before.store_identity;
        let opened = if StoreIdentity::from_config(&loaded.config) == *identity {
            let options = store_options(loaded).map_err(Exit::Config)?;
            let store = before.store.as_ref();
            let store = store.with_settings(options.lease, options.admission);
            (store, identity.clone())
        } else {
            open_store(loaded, false).await?
        };
        let app = Self::build_with_store(opened, loaded, Arc::clone(&before.metrics))?;
        let asked = before.models_in_use.get();
        let keeps_store = app.store_identity == *identity;
        let same = (keeps_store && app.config.retention == before.config.retention)
            .then(|| Arc::clone(&before.last_cleanup));
        Ok(Self {
            last_cleanup: same.unwrap_or_default(),
            previous_models: asked.map(|asked| asked.models.clone()),
            signers_keys: before.signers_keys.clone(),
            ..app
        })
    }

    /// Builds with new metrics, which include the day budget from the start.
    fn build_first(opened: OpenedStore, loaded: &LoadedConfig) -> Result<Self, Exit> {
        let app = Self::build_with_store(opened, loaded, metrics()?)?;
        if let Some(purse) = &app.day_budget {
            purse.publish_cap();
        }
        Ok(app)
    }

    fn build_with_store(
        (store, opened): OpenedStore,
        loaded: &LoadedConfig,
        metrics: Arc<Metrics>,
    ) -> Result<Self, Exit> {
        let config = loaded.config.clone();
        let playbooks = load_playbooks(&config).map_err(Exit::Config)?;
        let past: Arc<dyn PastCases> = store.clone();
        let tools = build_tools(loaded, past).map_err(Exit::Config)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let purse = DayBudget::new(config.limits.day_usd).map(|budget| {
            let (clock, meter) = (Arc::clone(&clock), metrics.clone());
            Arc::new(DayBudgetTracker::new(budget, store.clone(), clock, meter))
        });
        Ok(Self {
            routes: samples::routes(&config),
            destinations: build_destinations(loaded, &clock)?,
            config,
            base: loaded.base().to_owned(),
            store,
            store_identity: opened,
            signers_keys: SigningKeyCache::default(),
            metrics,
            clock,
            tools: Arc::new(tools),
            playbooks: Arc::new(playbooks),
            models_in_use: OnceLock::new(),
            previous_models: None,
            day_budget: purse,
            last_cleanup: LastCleanup::default(),
        })
    }

    /// Replaces all destinations by this one.
    pub(crate) fn use_single_destination(&mut self, destination: Arc<dyn Destination>) {
        self.routes = Routes {
            destinations: vec![destination.name().to_owned()],
            ..Routes::default()
        };
        self.destinations = vec![destination];
    }

    /// Returns the options for reading messages.
    pub(crate) fn read_options(&self) -> ReadOptions {
        read_options(&self.config)
    }

    /// Builds the core of the triage loop.
    pub(crate) fn triage(
        &self,
        overrides: &Overrides<'_>,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Result<Triage, Exit> {
        let mut routes = self.routes.clone();
        if let Some(name) = overrides.profile {
            self.check_profile(name)?;
            let everything = Route {
                profile: Some(name.to_owned()),
                ..Route::default()
            };
            routes.rules.insert(0, everything);
            routes.samples.profile = None;
        }
        let models = self.connect(overrides)?;
        self.begin_models(models.models());
        Ok(self.triage_with(self.profiles_of(overrides, &models)?, routes, watcher))
    }

    fn triage_with(
        &self,
        profiles: Profiles,
        routes: Routes,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Triage {
        Triage {
            cases: self.store.clone(),
            profiles,
            routes: Arc::new(routes),
            clock: Arc::clone(&self.clock),
            meter: self.metrics.clone(),
            day_budget: self.day_budget.clone(),
            watcher,
            sender: report_producer(),
            announcer: None,
            without_models: false,
            models_are_up: false,
            recheck_every: self.config.recheck_interval(),
        }
    }

    /// Checks that the profile exists.
    pub(crate) fn check_profile(&self, name: &str) -> Result<(), Exit> {
        let known = || self.config.profiles.iter().map(|one| one.name.as_str());
        if name == "default" || known().any(|one| one == name) {
            return Ok(());
        }
        let names: Vec<&str> = std::iter::once("default").chain(known()).collect();
        Err(Exit::usage(format!(
            "there is no profile {name:?}; there are {}",
            names.join(", ")
        )))
    }

    /// Returns all profiles with the overrides applied.
    pub(crate) fn profiles(&self, overrides: &Overrides<'_>) -> Result<Profiles, Exit> {
        self.profiles_of(overrides, &self.connect(overrides)?)
    }

    fn connect(&self, overrides: &Overrides<'_>) -> Result<ConnectedModels, Exit> {
        let meter: Arc<dyn Meter> = self.metrics.clone();
        let configured = if overrides.uses_playbook {
            &[]
        } else {
            self.config.models.as_slice()
        };
        let (model, before) = (overrides.model, self.previous_models.as_ref());
        ConnectedModels::new(configured, &self.base, model, &meter, before)
    }

    fn begin_models(&self, models: &ModelRegistry) {
        for name in models.open_circuits(&BTreeSet::new()).keys() {
            self.metrics.init_model(name);
        }
    }

    fn profiles_of(
        &self,
        overrides: &Overrides<'_>,
        models: &ConnectedModels,
    ) -> Result<Profiles, Exit> {
        let profiles = samples::profiles(&self.config)
            .iter()
            .map(|config| self.profile(config, models, overrides))
            .collect::<anyhow::Result<Vec<_>>>()
            .map_err(Exit::Config)?;
        Profiles::new(profiles).ok_or_else(|| Exit::Config(anyhow!("there is no default profile")))
    }

    fn profile(
        &self,
        config: &ProfileConfig,
        models: &ConnectedModels,
        overrides: &Overrides<'_>,
    ) -> anyhow::Result<Profile> {
        let playbook = Arc::new(PlaybookAnalyst::new(Arc::clone(&self.playbooks)));
        let mut conduct = config.triage_options()?;
        conduct.strategy = overrides.strategy.unwrap_or(conduct.strategy);
        let by_playbook = Profile {
            name: config.name.clone(),
            analyst: playbook.clone(),
            fallback: None,
            analyst_kind: AnalystKind::Playbook,
            models: Vec::new(),
            reserve: Cost::default(),
            toolbox: self.toolbox(&config.tools),
            exonerator: playbook.clone(),
            actions: self.playbooks.catalogue().into(),
            limits: self.config.limits.to_triage_limits(),
            conduct,
            prompts: String::new(),
        };
        if overrides.uses_playbook || !models.uses_models(config) {
            return Ok(by_playbook);
        }
        let modelled = models.analyst(config, &self.playbooks)?;
        let analyst: Arc<dyn Analyst> = if overrides.waits_for_models {
            modelled.analyst
        } else {
            Arc::new(NoWaitAnalyst(modelled.analyst))
        };
        Ok(Profile {
            analyst,
            fallback: Some(playbook),
            analyst_kind: AnalystKind::Model,
            models: modelled.models,
            reserve: modelled.reserve,
            prompts: modelled.prompts,
            ..by_playbook
        })
    }

    fn toolbox(&self, globs: &[String]) -> Arc<dyn Toolbox> {
        Arc::new(FilteredToolbox::new(self.tools.clone(), globs))
    }

    /// Writes the metrics to the configured file.
    pub(crate) fn write_metrics(&self) -> Result<(), Exit> {
        let path = &self.config.metrics.textfile;
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        self.metrics.write(path).map_err(Exit::Failed)
    }
}

/// Returns the sender that reports name.
pub(crate) fn report_producer() -> ReportProducer {
    ReportProducer {
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Returns the options for reading messages.
pub(crate) fn read_options(config: &Config) -> ReadOptions {
    ReadOptions {
        generic: config.feeds.iter().map(|feed| feed.to_generic()).collect(),
        ..ReadOptions::default()
    }
}

fn metrics() -> Result<Arc<Metrics>, Exit> {
    let metrics = Metrics::new().map_err(|error| Exit::Failed(error.into()))?;
    Ok(Arc::new(metrics))
}

/// A store and the settings that it was opened with.
type OpenedStore = (Arc<dyn Store>, StoreIdentity);

/// Opens the database. With `must_exist` it is not created.
async fn open_store(loaded: &LoadedConfig, must_exist: bool) -> Result<OpenedStore, Exit> {
    // The fingerprint is taken before opening, so a later change is noticed when the configuration is read again.
    let by = StoreIdentity::from_config(&loaded.config);
    let mut options = store_options(loaded).map_err(Exit::Config)?;
    options.must_exist = must_exist;
    if let Some(place) = loaded.config.blobs.blob_options(&loaded.config.store.url) {
        let blobs = BlobStore::open(&place).map_err(|error| Exit::Config(error.into()))?;
        options.blobs = Some(blobs);
    }
    match nightshift_store::open(&loaded.config.store.url, options).await {
        Ok(store) => Ok((store, by)),
        Err(error) if error.is_configuration_error() => Err(Exit::Config(error.into())),
        Err(error) => Err(Exit::Failed(error.into())),
    }
}

/// Returns the options of the store without the place of blobs.
fn store_options(loaded: &LoadedConfig) -> anyhow::Result<StoreOptions> {
    let config = &loaded.config;
    let lease = Duration::from_secs(config.worker.lease_secs);
    let admission = config
        .admission_policy()
        .map_err(|problem| anyhow!(problem))?;
    let mut options = StoreOptions::new(lease, admission);
    let store = &config.store;
    if let Some(key) = &store.password {
        options.password = database_password(key, loaded.base())?;
    }
    options.ca_file = (!store.ca_file.as_os_str().is_empty()).then(|| store.ca_file.clone());
    options.pooled = store.pooled;
    options.notify_url = (!store.notify_url.is_empty()).then(|| store.notify_url.clone());
    Ok(options)
}

/// Returns the password of the database. The store reads a password file again for each connection.
fn database_password(key: &KeyRef, base: &Path) -> anyhow::Result<Option<DatabasePassword>> {
    if let KeyLocation::File(path) = key.location() {
        return Ok(Some(DatabasePassword::file(base.join(path))));
    }
    let password = secret_reader(key.location(), base)()
        .map_err(|problem| anyhow!("[store] password: {problem}"))?;
    let is_empty = password.expose_secret().is_empty();
    Ok((!is_empty).then_some(DatabasePassword::Value(password)))
}

/// Loads the shipped playbooks and those of the configured folder.
pub(crate) fn load_playbooks(config: &Config) -> anyhow::Result<PlaybookSet> {
    let dir = &config.playbooks.dir;
    let dir = (!dir.as_os_str().is_empty()).then_some(dir.as_path());
    PlaybookSet::load(dir).context("[playbooks] dir")
}

/// Builds the configured tools, and the three default ones unless others of their kind are configured.
pub(crate) fn build_tools(
    loaded: &LoadedConfig,
    past: Arc<dyn PastCases>,
) -> anyhow::Result<ConfiguredToolbox> {
    let (mut configs, declared) = ToolTable::divide(&loaded.config.tools);
    let mut defaults = Vec::new();
    for kind in ["indicator_facts", "watchlist", "past_cases"] {
        let default: ToolConfig = serde_json::from_value(json!({"kind": kind, "name": kind}))?;
        let is_same =
            |one: &ToolConfig| std::mem::discriminant(one) == std::mem::discriminant(&default);
        if !configs.iter().any(is_same) {
            defaults.push(default);
        }
    }
    defaults.append(&mut configs);
    let base = loaded.base();
    let keys = |key: &KeyRef| secret_reader(key.location(), base);
    let built_in = ConfiguredToolbox::build(&defaults, past, base)?;
    Ok(built_in.with_declared(&declared, &loaded.config.tool_settings, &keys)?)
}

/// Builds the configured tools without a store, so that listing and checking creates no file.
pub(crate) fn tools_without_store(loaded: &LoadedConfig) -> Result<ConfiguredToolbox, Exit> {
    struct NoPastCases;

    #[async_trait::async_trait]
    impl PastCases for NoPastCases {
        async fn similar_cases(&self, _query: &PastQuery) -> Result<Vec<PastCase>, String> {
            Ok(Vec::new())
        }
    }

    build_tools(loaded, Arc::new(NoPastCases)).map_err(Exit::Config)
}

/// Returns the configured tools that the profile of this alert's route allows.
pub(crate) fn specs_for(
    loaded: &LoadedConfig,
    tools: &Arc<ConfiguredToolbox>,
    alert: &Alert,
) -> Vec<ToolSpec> {
    let routes = samples::routes(&loaded.config);
    let name = routes.profile(alert);
    let profiles = samples::profiles(&loaded.config);
    let profile = profiles.iter().find(|one| one.name == name);
    let everything = ["*".to_owned()];
    let globs = profile.map_or(everything.as_slice(), |one| one.tools.as_slice());
    FilteredToolbox::new(tools.clone(), globs).specs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_a_file_or_told_and_an_empty_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            database_password(&KeyRef::from(text), dir.path())
                .ok()
                .unwrap()
        };
        let file = format!("{:?}", of("file:pw"));
        let path = dir.path().join("pw");
        assert!(file.contains(&path.display().to_string()), "{file}");
        assert!(matches!(of("s3cret"), Some(DatabasePassword::Value(_))));
        assert!(of("").is_none());
        let missing = database_password(&KeyRef::from("env:NIGHTSHIFT_NO_SUCH_NAME"), dir.path());
        assert!(missing.is_err_and(|error| error.to_string().contains("NIGHTSHIFT_NO_SUCH_NAME")));
    }
}
