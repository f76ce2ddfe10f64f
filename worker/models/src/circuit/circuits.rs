//! The circuits of all models, for those who plan work: is anybody there to answer, and when is it worth asking again.

use std::collections::BTreeMap;
use std::future::{Future, pending};

use futures_util::future::select_all;
use tokio::time::{Instant, sleep_until};

use super::Breaker;
use super::breaker::Open;

/// The circuits by the models' names in the configuration.
#[derive(Clone, Default)]
pub struct Circuits {
    breakers: BTreeMap<String, Breaker>,
}

/// Whether a chain of models answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The circuit of at least one is closed.
    Up,
    /// All are open.
    Down {
        /// Since when all of them are.
        since: Instant,
        /// When the next request is let through, as a probe.
        probe_at: Instant,
    },
}

impl Circuits {
    pub(crate) fn new(breakers: BTreeMap<String, Breaker>) -> Self {
        Self { breakers }
    }

    /// Whether a model's circuit is open; false for one that is not there.
    #[must_use]
    pub fn is_open(&self, name: &str) -> bool {
        self.open(name).is_some()
    }

    /// Whether a chain of models answers. One without models does.
    #[must_use]
    pub fn health(&self, chain: &[&str]) -> Health {
        let opens: Option<Vec<Open>> = chain.iter().map(|name| self.open(name)).collect();
        let opens = opens.unwrap_or_default();
        match (
            opens.iter().map(|open| open.since).max(),
            opens.iter().map(|open| open.probe_at).min(),
        ) {
            (Some(since), Some(probe_at)) => Health::Down { since, probe_at },
            _ => Health::Up,
        }
    }

    /// Waits until one request to the chain would be let through: a circuit is closed, or its probe is due. Who then
    /// finds the chain still [`Health::Down`] is the probe, and should bring no more than one question.
    pub async fn chance(&self, chain: &[&str]) {
        loop {
            let changed = self.changed(chain);
            match self.health(chain) {
                Health::Up => return,
                Health::Down { probe_at, .. } => tokio::select! {
                    () = sleep_until(probe_at) => return,
                    () = changed => {}
                },
            }
        }
    }

    fn open(&self, name: &str) -> Option<Open> {
        self.breakers.get(name)?.state().borrow().open
    }

    /// Waits for the next change of one of the chain's circuits; subscribed to before this returns.
    fn changed(&self, chain: &[&str]) -> impl Future<Output = ()> + use<> {
        let states: Vec<_> = chain
            .iter()
            .filter_map(|name| self.breakers.get(*name))
            .map(Breaker::state)
            .collect();
        async move {
            if states.is_empty() {
                return pending().await;
            }
            let changes = states.into_iter().map(|mut state| {
                Box::pin(async move {
                    if state.changed().await.is_err() {
                        pending::<()>().await;
                    }
                })
            });
            select_all(changes).await;
        }
    }
}
