//! Builds canaries from the configuration: their key, source and destination.

use std::sync::Arc;

use anyhow::anyhow;
use nightshift_engine::key::KeyRef;
use nightshift_pipeline::canary::{Canary, CanaryCloser, CanaryLoop};
use nightshift_pipeline::port::Publish;
use nightshift_pipeline::route::CanaryRoute;
use nightshift_queue::publisher;
use nightshift_web::HttpPublisher;
use tokio_util::sync::CancellationToken;

use super::App;
use super::worker::WorkerLoop;
use crate::config::{Config, SourceKind, intake_address, secret_reader};
use crate::exit::Exit;

/// Returns the route of canaries.
pub(super) fn route(config: &Config, profile: Option<String>) -> CanaryRoute {
    let canary = &config.canary;
    let destination = canary
        .destination(config)
        .ok()
        .filter(|_| canary.accepts_canaries())
        .map(|one| one.name().to_owned());
    CanaryRoute {
        profile,
        destination,
    }
}

impl App {
    /// Builds the signing and recognition of canaries. Workers that send none recognise them by the key, because
    /// workers of one rollout share a queue.
    pub(super) fn canary(&self) -> Option<Canary> {
        let canary = &self.config.canary;
        let source = canary.source(&self.config).ok()?;
        let key = canary.key()?;
        Some(Canary {
            source: source.name().to_owned(),
            every: canary.every(),
            keys: secret_reader(key.location(), &self.base),
        })
    }

    /// Builds what ends a canary.
    pub(super) fn canary_closer(&self) -> Option<CanaryCloser> {
        let canary = &self.config.canary;
        canary.accepts_canaries().then(|| CanaryCloser {
            feedback: self.store.clone(),
            clock: Arc::clone(&self.clock),
            every: canary.every(),
        })
    }

    /// Returns the publisher for the queue of this source.
    async fn publisher(&self, name: &str) -> anyhow::Result<Arc<dyn Publish>> {
        let mut sources = self.config.sources.iter();
        let source = sources.find(|one| one.name() == name);
        let base = self.base.clone();
        let secrets = move |text: &str| secret_reader(KeyRef::from(text).location(), &base)();
        match source.map(|one| one.kind()) {
            Some(SourceKind::Queue(queue)) => Ok(publisher(&queue, Arc::new(secrets)).await?),
            Some(SourceKind::Http(http)) => {
                let (listen, clock) = (intake_address(&self.config.web), Arc::clone(&self.clock));
                let made = HttpPublisher::new(http.clone(), listen, Arc::new(secrets), clock);
                Ok(Arc::new(
                    made.map_err(|why| anyhow!("[canary] source: {why}"))?,
                ))
            }
            None => Err(anyhow!("[canary] source: there is no [[source]] {name:?}")),
        }
    }

    /// Builds the loop that sends canaries. A key that cannot sign is reported before the first message is taken.
    pub(crate) async fn canary_loop(&self) -> Result<Option<CanaryLoop>, Exit> {
        let (Some(canary), Some(ending)) = (self.canary(), self.canary_closer()) else {
            return Ok(None);
        };
        if !self.config.canary.is_enabled() {
            return Ok(None);
        }
        canary
            .message(0, self.clock.now())
            .map_err(|why| Exit::Config(anyhow!("[canary] key: {why}")))?;
        let to = self.publisher(&canary.source).await.map_err(Exit::Config)?;
        Ok(Some(CanaryLoop {
            canary,
            publisher: to,
            outbox: self.store.clone(),
            cases: self.store.clone(),
            closer: ending,
            holder: uuid::Uuid::new_v4().to_string(),
        }))
    }
}

impl WorkerLoop for CanaryLoop {
    async fn run(self, stop: CancellationToken) {
        Self::run(&self, &stop).await;
    }
}
