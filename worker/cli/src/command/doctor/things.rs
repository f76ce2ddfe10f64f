//! The targets of the doctor: everything that the configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use nightshift_engine::checkup::{Checkup, Gravity};
use nightshift_engine::port::{Clock, Toolbox};
use nightshift_llm::KeyRef;
use nightshift_pipeline::look::in_thread;
use nightshift_store::Address;
use nightshift_web::{HttpConfig, wrong_secrets};

use super::look::Thing;
use super::{configuration, playbooks, tls};
use crate::args::Area;
use crate::clock::SystemClock;
use crate::config::{Destination, Loaded, Source, Taken, secret_at};
use crate::traces;
use crate::wiring::{
    examine_destination, examine_profiles, examine_store, tools_alone, unused_globs,
};

/// Returns the targets of the wanted areas.
pub(super) fn of(loaded: &Loaded, wanted: &dyn Fn(Area) -> bool) -> Vec<Thing> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let shared = Arc::new(loaded.clone());
    let here = |area, look: fn(&Loaded) -> Checkup| {
        let loaded = Arc::clone(&shared);
        Thing::new(area, "", in_thread(move || look(&loaded)))
    };
    let mut things = vec![
        here(Area::Configuration, |loaded| {
            configuration::examine(loaded, SystemClock.now())
        }),
        here(Area::Tls, |loaded| tls::roots(speaks_tls(loaded))),
        here(Area::Tools, tools),
        here(Area::Playbooks, |loaded| {
            let tools = tools_alone(loaded).ok();
            playbooks::examine(loaded, tools.map(|tools| tools.specs()))
        }),
    ];
    if wanted(Area::Store) {
        things.push(store(loaded, &clock));
    }
    if wanted(Area::Sources) {
        things.extend(sources(loaded, &clock));
    }
    if wanted(Area::Models) {
        things.extend(models(loaded));
    }
    if wanted(Area::Destinations) {
        things.extend(destinations(loaded, &clock));
    }
    if wanted(Area::Web) {
        things.push(web(loaded));
    }
    if wanted(Area::Traces) {
        things.extend(traces(loaded));
    }
    things.retain(|one| wanted(one.area));
    things
}

/// Returns whether anything configured connects with certificates of the system's authorities.
fn speaks_tls(loaded: &Loaded) -> bool {
    let config = &loaded.config;
    let is_plain = |url: Option<&String>| url.is_some_and(|url| url.starts_with("http:"));
    config
        .models
        .iter()
        .any(|one| !is_plain(one.base_url.as_ref()))
        || config
            .destinations
            .iter()
            .any(|one| !matches!(one, Destination::File { .. }))
        || config.sources.iter().any(Source::speaks_tls)
        || config.blobs.is_remote()
        || config.traces.endpoint.starts_with("https:")
        || matches!(Address::parse(&config.store.url), Some(Address::Postgres(url)) if !url.contains("sslmode=disable"))
}

/// Returns the collector of traces, if there is one.
fn traces(loaded: &Loaded) -> Option<Thing> {
    let config = loaded.config.traces.clone();
    let base = loaded.base().to_owned();
    let is_there = !config.endpoint.is_empty();
    let look = async move { traces::examine(config, &base).await };
    is_there.then(|| Thing::new(Area::Traces, "", look))
}

fn store(loaded: &Loaded, clock: &Arc<dyn Clock>) -> Thing {
    let clock = Arc::clone(clock);
    match examine_store(loaded) {
        Ok(options) => {
            let url = loaded.config.store.url.clone();
            // The default folder is beside the database file, which is probed.
            let blobs = loaded.config.blobs.place(&url);
            let blobs = blobs.filter(|_| !loaded.config.blobs.url.is_empty());
            let known = loaded.config.destinations.iter();
            let known: Vec<String> = known.map(|one| one.name().to_owned()).collect();
            let look = async move {
                nightshift_store::examine(&url, options, &known, blobs.as_ref(), &*clock).await
            };
            Thing::new(Area::Store, "", look)
        }
        Err(problem) => {
            let mut checkup = Checkup::default();
            checkup.error(
                "store.secret",
                problem,
                "no command that needs the database starts",
                "put the password where [store] password says, as the user of the worker sees it",
            );
            Thing::new(Area::Store, "", std::future::ready(checkup))
        }
    }
}

fn sources(loaded: &Loaded, clock: &Arc<dyn Clock>) -> Vec<Thing> {
    let base = loaded.base().to_owned();
    let secrets: nightshift_queue::Secrets =
        Arc::new(move |text| secret_at(KeyRef::from(text).place(), &base)());
    let canary = &loaded.config.canary;
    let canarys = canary
        .source(&loaded.config)
        .ok()
        .filter(|_| canary.is_on())
        .map(Source::name);
    let one = |config: &Source| {
        let (secrets, clock) = (Arc::clone(&secrets), Arc::clone(clock));
        let name = config.name().to_owned();
        match config.taken() {
            Taken::Queue(queue) => {
                let is_canarys = canarys == Some(config.name());
                let look = async move {
                    let mut checkup =
                        nightshift_queue::examine(&queue, Arc::clone(&secrets), &*clock).await;
                    // An unreachable queue is reported once.
                    let is_there = !checkup
                        .found
                        .iter()
                        .any(|one| one.severity == Gravity::Error);
                    if is_canarys && is_there {
                        let sends = nightshift_queue::examine_publishing(&queue, secrets).await;
                        checkup.seen.extend(sends.seen);
                        checkup.found.extend(sends.found);
                    }
                    checkup
                };
                Thing::new(Area::Sources, name, look)
            }
            // There is nothing to call: senders connect to the worker.
            Taken::Http(http) => {
                let http = http.clone();
                let look = async move { posted(&http, &secrets) };
                Thing::new(Area::Sources, name, look)
            }
        }
    };
    loaded.config.sources.iter().map(one).collect()
}

/// Checks whether senders can authenticate.
fn posted(config: &HttpConfig, secrets: &nightshift_queue::Secrets) -> Checkup {
    let mut checkup = Checkup::default();
    checkup.saw("is posted to");
    for problem in wrong_secrets(config, secrets) {
        checkup.error(
            "source.secret",
            problem,
            "the worker does not start; where it runs already, whoever posts with it is refused, and keeps its alerts or drops them",
            "put the secret where the source says, as the user of the worker sees it",
        );
    }
    checkup
}

fn models(loaded: &Loaded) -> Vec<Thing> {
    let mut things = Vec::new();
    for config in &loaded.config.models {
        let key = config
            .api_key
            .as_ref()
            .map(|key| secret_at(key.place(), loaded.base()));
        let config = config.clone();
        let name = config.name.clone();
        let look = async move { nightshift_llm::examine(&config, key).await };
        things.push(Thing::new(Area::Models, name, look));
    }
    let loaded = loaded.clone();
    let profiles = async move { examine_profiles(&loaded) };
    things.push(Thing::new(Area::Models, "", profiles));
    things
}

fn destinations(loaded: &Loaded, clock: &Arc<dyn Clock>) -> Vec<Thing> {
    let links = loaded.config.links();
    let one = |config: &Destination| {
        let (config, links, clock) = (config.clone(), links.clone(), Arc::clone(clock));
        let (name, base): (String, PathBuf) = (config.name().to_owned(), loaded.base().to_owned());
        let look = async move { examine_destination(&config, &base, links, &clock).await };
        Thing::new(Area::Destinations, name, look)
    };
    loaded.config.destinations.iter().map(one).collect()
}

fn web(loaded: &Loaded) -> Thing {
    let (config, base) = (loaded.config.web.clone(), loaded.base().to_owned());
    let sources = loaded.config.sources.iter();
    let posted = sources.filter(|one| one.is_http());
    let posted: Vec<String> = posted.map(|one| one.name().to_owned()).collect();
    let look = async move {
        let secret = move |text: &str| secret_at(KeyRef::from(text).place(), &base)();
        in_thread(move || nightshift_web::examine(&config, &posted, secret)).await
    };
    Thing::new(Area::Web, "", look)
}

fn tools(loaded: &Loaded) -> Checkup {
    match tools_alone(loaded) {
        Ok(tools) => {
            let mut checkup = tools.examine();
            checkup.join(unused_globs(loaded, tools));
            checkup
        }
        Err(error) => {
            let mut checkup = Checkup::default();
            checkup.error(
                "tool.configuration",
                error.to_string(),
                "the worker does not start",
                "mend the [[tool]] tables; docs/tools.md has all keys",
            );
            checkup
        }
    }
}
