//! Lists the targets of the doctor: everything that the configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use nightshift_engine::doctor::{CheckSeverity, HealthReport};
use nightshift_engine::key::KeyRef;
use nightshift_engine::port::{Clock, Toolbox};
use nightshift_pipeline::blocking::run_blocking;
use nightshift_store::StoreUrl;
use nightshift_web::{HttpConfig, secret_problems};

use super::probe_runner::DoctorTarget;
use super::{configuration, playbooks, tls};
use crate::args::DoctorArea;
use crate::clock::SystemClock;
use crate::config::{AnySourceConfig, DestinationConfig, LoadedConfig, SourceKind, secret_reader};
use crate::traces;
use crate::wiring::{
    check_tool_globs, probe_destination, probe_profiles, store_probe_options, tools_without_store,
};

/// Returns the targets of the wanted areas.
pub(super) fn doctor_targets(
    loaded: &LoadedConfig,
    wanted: &dyn Fn(DoctorArea) -> bool,
) -> Vec<DoctorTarget> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let shared = Arc::new(loaded.clone());
    let here = |area, look: fn(&LoadedConfig) -> HealthReport| {
        let loaded = Arc::clone(&shared);
        DoctorTarget::new(area, "", run_blocking(move || look(&loaded)))
    };
    let mut things = vec![
        here(DoctorArea::Configuration, |loaded| {
            configuration::probe(loaded, SystemClock.now())
        }),
        here(DoctorArea::Tls, |loaded| {
            tls::check_root_certificates(speaks_tls(loaded))
        }),
        here(DoctorArea::Tools, tools),
        here(DoctorArea::Playbooks, |loaded| {
            let tools = tools_without_store(loaded).ok();
            playbooks::probe(loaded, tools.map(|tools| tools.specs()))
        }),
    ];
    if wanted(DoctorArea::Store) {
        things.push(store(loaded, &clock));
    }
    if wanted(DoctorArea::Sources) {
        things.extend(sources(loaded, &clock));
    }
    if wanted(DoctorArea::Models) {
        things.extend(models(loaded));
    }
    if wanted(DoctorArea::Destinations) {
        things.extend(destinations(loaded, &clock));
    }
    if wanted(DoctorArea::Web) {
        things.push(web(loaded));
    }
    if wanted(DoctorArea::Traces) {
        things.extend(traces(loaded));
    }
    things.retain(|one| wanted(one.area));
    things
}

/// Returns whether anything configured connects with certificates of the system's authorities.
fn speaks_tls(loaded: &LoadedConfig) -> bool {
    let config = &loaded.config;
    let is_plain = |url: Option<&String>| url.is_some_and(|url| url.starts_with("http:"));
    config
        .models
        .iter()
        .any(|one| !is_plain(one.base_url.as_ref()))
        || config
            .destinations
            .iter()
            .any(|one| !matches!(one, DestinationConfig::File { .. }))
        || config.sources.iter().any(AnySourceConfig::speaks_tls)
        || config.blobs.is_remote()
        || config.traces.endpoint.starts_with("https:")
        || matches!(StoreUrl::parse(&config.store.url), Some(StoreUrl::Postgres(url)) if !url.contains("sslmode=disable"))
}

/// Returns the collector of traces, if there is one.
fn traces(loaded: &LoadedConfig) -> Option<DoctorTarget> {
    let config = loaded.config.traces.clone();
    let base = loaded.base().to_owned();
    let is_there = !config.endpoint.is_empty();
    let look = async move { traces::examine(config, &base).await };
    is_there.then(|| DoctorTarget::new(DoctorArea::Traces, "", look))
}

fn store(loaded: &LoadedConfig, clock: &Arc<dyn Clock>) -> DoctorTarget {
    let clock = Arc::clone(clock);
    match store_probe_options(loaded) {
        Ok(options) => {
            let url = loaded.config.store.url.clone();
            // The default folder is beside the database file, which is probed.
            let blobs = loaded.config.blobs.blob_options(&url);
            let blobs = blobs.filter(|_| !loaded.config.blobs.url.is_empty());
            let known = loaded.config.destinations.iter();
            let known: Vec<String> = known.map(|one| one.name().to_owned()).collect();
            let look = async move {
                nightshift_store::probe(&url, options, &known, blobs.as_ref(), &*clock).await
            };
            DoctorTarget::new(DoctorArea::Store, "", look)
        }
        Err(problem) => {
            let mut checkup = HealthReport::default();
            checkup.add_error(
                "store.secret",
                problem,
                "no command that needs the database starts",
                "put the password where [store] password says, as the user of the worker sees it",
            );
            DoctorTarget::new(DoctorArea::Store, "", std::future::ready(checkup))
        }
    }
}

fn sources(loaded: &LoadedConfig, clock: &Arc<dyn Clock>) -> Vec<DoctorTarget> {
    let base = loaded.base().to_owned();
    let secrets: nightshift_queue::SecretResolver =
        Arc::new(move |text| secret_reader(KeyRef::from(text).location(), &base)());
    let canary = &loaded.config.canary;
    let canarys = canary
        .source(&loaded.config)
        .ok()
        .filter(|_| canary.is_enabled())
        .map(AnySourceConfig::name);
    let one = |config: &AnySourceConfig| {
        let (secrets, clock) = (Arc::clone(&secrets), Arc::clone(clock));
        let name = config.name().to_owned();
        match config.kind() {
            SourceKind::Queue(queue) => {
                let is_canarys = canarys == Some(config.name());
                let look = async move {
                    let mut checkup =
                        nightshift_queue::probe_source(&queue, Arc::clone(&secrets), &*clock).await;
                    // An unreachable queue is reported once.
                    let is_there = !checkup
                        .failed_checks
                        .iter()
                        .any(|one| one.severity == CheckSeverity::Error);
                    if is_canarys && is_there {
                        let sends = nightshift_queue::probe_publishing(&queue, secrets).await;
                        checkup.observations.extend(sends.observations);
                        checkup.failed_checks.extend(sends.failed_checks);
                    }
                    checkup
                };
                DoctorTarget::new(DoctorArea::Sources, name, look)
            }
            // There is nothing to call: senders connect to the worker.
            SourceKind::Http(http) => {
                let http = http.clone();
                let look = async move { probe_http_secrets(&http, &secrets) };
                DoctorTarget::new(DoctorArea::Sources, name, look)
            }
        }
    };
    loaded.config.sources.iter().map(one).collect()
}

/// Checks whether senders can authenticate.
fn probe_http_secrets(
    config: &HttpConfig,
    secrets: &nightshift_queue::SecretResolver,
) -> HealthReport {
    let mut checkup = HealthReport::default();
    checkup.add_observation("is posted to");
    for problem in secret_problems(config, secrets) {
        checkup.add_error(
            "source.secret",
            problem,
            "the worker does not start; a running worker refuses posts with it, and senders keep \
             or drop their alerts",
            "put the secret where the source says, as the user of the worker sees it",
        );
    }
    checkup
}

fn models(loaded: &LoadedConfig) -> Vec<DoctorTarget> {
    let mut things = Vec::new();
    for config in &loaded.config.models {
        let key = config
            .api_key
            .as_ref()
            .map(|key| secret_reader(key.location(), loaded.base()));
        let config = config.clone();
        let name = config.name.clone();
        let look = async move { nightshift_llm::probe(&config, key).await };
        things.push(DoctorTarget::new(DoctorArea::Models, name, look));
    }
    let loaded = loaded.clone();
    let profiles = async move { probe_profiles(&loaded) };
    things.push(DoctorTarget::new(DoctorArea::Models, "", profiles));
    things
}

fn destinations(loaded: &LoadedConfig, clock: &Arc<dyn Clock>) -> Vec<DoctorTarget> {
    let one = |config: &DestinationConfig| {
        let (config, clock) = (config.clone(), Arc::clone(clock));
        let (name, base): (String, PathBuf) = (config.name().to_owned(), loaded.base().to_owned());
        let look = async move { probe_destination(&config, &base, &clock).await };
        DoctorTarget::new(DoctorArea::Destinations, name, look)
    };
    loaded.config.destinations.iter().map(one).collect()
}

fn web(loaded: &LoadedConfig) -> DoctorTarget {
    let (config, base) = (loaded.config.web.clone(), loaded.base().to_owned());
    let sources = loaded.config.sources.iter();
    let posted = sources.filter(|one| one.is_http());
    let posted: Vec<String> = posted.map(|one| one.name().to_owned()).collect();
    let look = async move {
        let secret = move |text: &str| secret_reader(KeyRef::from(text).location(), &base)();
        run_blocking(move || nightshift_web::probe(&config, &posted, secret)).await
    };
    DoctorTarget::new(DoctorArea::Web, "", look)
}

fn tools(loaded: &LoadedConfig) -> HealthReport {
    match tools_without_store(loaded) {
        Ok(tools) => {
            let mut checkup = tools.probe();
            checkup.merge(check_tool_globs(loaded, tools));
            checkup
        }
        Err(error) => {
            let mut checkup = HealthReport::default();
            checkup.add_error(
                "tool.configuration",
                error.to_string(),
                "the worker does not start",
                "mend the [[tool]] tables; docs/tools.md has all keys",
            );
            checkup
        }
    }
}
