//! Builds the configured sources, each with the feeds that it may carry.

use std::sync::Arc;

use anyhow::anyhow;
use nightshift_engine::key::KeyRef;
use nightshift_pipeline::loops::InboxCapacity;
use nightshift_pipeline::port::Source;
use nightshift_queue::{SecretResolver, connect};
use nightshift_web::{HttpIntake, HttpSource};

use super::App;
use crate::config::{Config, SourceKind, secret_reader};
use crate::exit::Exit;

/// A source and the feeds that it may carry.
pub(crate) type SourceWithFeeds = (Arc<dyn Source>, Option<Vec<String>>);

/// All sources of this process.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) all: Vec<SourceWithFeeds>,
    /// The intake of posted alerts, for the server.
    pub(crate) http: Option<HttpIntake>,
}

/// Checks that there are sources with unique names, without a store.
pub(crate) fn check_sources(config: &Config) -> Result<(), Exit> {
    if config.sources.is_empty() {
        return Err(Exit::Config(anyhow!(
            "there is no [[source]] to take messages from; docs/sources.md shows how one is configured, and \
             `nightshift worker --only triage,delivery,web` works without"
        )));
    }
    let mut names: Vec<&str> = config.sources.iter().map(|one| one.name()).collect();
    names.sort_unstable();
    let mut pairs = names.windows(2);
    match pairs.find(|pair| pair.first() == pair.last()) {
        Some(twice) => Err(Exit::Config(anyhow!(
            "two [[source]] are called {:?}: give each its own name, since metrics tell them apart by it",
            twice.first().unwrap_or(&"")
        ))),
        None => Ok(()),
    }
}

impl App {
    /// Builds all configured sources, which were checked. They connect at the first request for messages.
    pub(crate) async fn sources(&self, room: &Arc<InboxCapacity>) -> Result<Sources, Exit> {
        let base = self.base.clone();
        let secrets: SecretResolver =
            Arc::new(move |text| secret_reader(KeyRef::from(text).location(), &base)());
        let mut sources = Sources::default();
        let mut posted = Vec::new();
        for config in &self.config.sources {
            let source: Arc<dyn Source> = match config.kind() {
                SourceKind::Queue(queue) => connect(&queue, Arc::clone(&secrets))
                    .await
                    .map_err(|error| Exit::Config(error.into()))?,
                SourceKind::Http(http) => {
                    let meter = self.metrics.clone();
                    let made = HttpSource::new(
                        http.clone(),
                        Arc::clone(&secrets),
                        Arc::clone(room),
                        meter,
                    );
                    let made = Arc::new(made.map_err(|why| source_error(config.name(), &why))?);
                    posted.push(Arc::clone(&made));
                    made
                }
            };
            sources.all.push((source, config.feeds()));
        }
        if !posted.is_empty() {
            let keys = self.signers_keys.clone();
            let intake = HttpIntake::new(posted, Arc::clone(&self.clock), keys);
            sources.http = Some(intake.map_err(|why| Exit::Config(anyhow!("[[source]]: {why}")))?);
        }
        Ok(sources)
    }
}

fn source_error(name: &str, why: &str) -> Exit {
    Exit::Config(anyhow!("[[source]] {name}: {why}"))
}
