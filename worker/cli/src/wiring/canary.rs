//! Builds canaries from the configuration: their key, source and destination.

use std::sync::Arc;

use anyhow::anyhow;
use nightshift_llm::KeyRef;
use nightshift_pipeline::canary::{Canary, CanaryEnding, CanarySending};
use nightshift_pipeline::port::Publish;
use nightshift_pipeline::route::CanaryRoute;
use nightshift_queue::publisher;
use nightshift_web::HttpPublisher;
use tokio_util::sync::CancellationToken;

use super::App;
use super::worker::Loop;
use crate::config::{Config, Taken, posted_at, secret_at};
use crate::exit::Exit;

/// Returns the route of canaries.
pub(super) fn route(config: &Config, profile: Option<String>) -> CanaryRoute {
    let canary = &config.canary;
    let destination = canary
        .destination(config)
        .ok()
        .filter(|_| canary.is_known())
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
            keys: secret_at(key.place(), &self.base),
        })
    }

    /// Builds what ends a canary.
    pub(super) fn canary_ending(&self) -> Option<CanaryEnding> {
        let canary = &self.config.canary;
        canary.is_known().then(|| CanaryEnding {
            desk: self.store.clone(),
            clock: Arc::clone(&self.clock),
            every: canary.every(),
        })
    }

    /// Returns the publisher for the queue of this source.
    async fn publisher(&self, name: &str) -> anyhow::Result<Arc<dyn Publish>> {
        let mut sources = self.config.sources.iter();
        let source = sources.find(|one| one.name() == name);
        let base = self.base.clone();
        let secrets = move |text: &str| secret_at(KeyRef::from(text).place(), &base)();
        match source.map(|one| one.taken()) {
            Some(Taken::Queue(queue)) => Ok(publisher(&queue, Arc::new(secrets)).await?),
            Some(Taken::Http(http)) => {
                let (listen, clock) = (posted_at(&self.config.web), Arc::clone(&self.clock));
                let made = HttpPublisher::new(http.clone(), listen, Arc::new(secrets), clock);
                Ok(Arc::new(
                    made.map_err(|why| anyhow!("[canary] source: {why}"))?,
                ))
            }
            None => Err(anyhow!("[canary] source: there is no [[source]] {name:?}")),
        }
    }

    /// Builds the loop that sends canaries. A key that cannot sign is reported before the first message is taken.
    pub(crate) async fn canary_sending(&self) -> Result<Option<CanarySending>, Exit> {
        let (Some(canary), Some(ending)) = (self.canary(), self.canary_ending()) else {
            return Ok(None);
        };
        if !self.config.canary.is_on() {
            return Ok(None);
        }
        canary
            .message(0, self.clock.now())
            .map_err(|why| Exit::Config(anyhow!("[canary] key: {why}")))?;
        let to = self.publisher(&canary.source).await.map_err(Exit::Config)?;
        Ok(Some(CanarySending {
            canary,
            to,
            outbox: self.store.clone(),
            cases: self.store.clone(),
            ending,
            holder: uuid::Uuid::new_v4().to_string(),
        }))
    }
}

impl Loop for CanarySending {
    async fn run(self, stop: CancellationToken) {
        Self::run(&self, &stop).await;
    }
}
