//! The circuits of all models, for those who plan work: is anybody there to answer, and when is it worth asking again.

use std::collections::BTreeMap;

use tokio::time::Instant;

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

    fn open(&self, name: &str) -> Option<Open> {
        self.breakers.get(name)?.state().borrow().open
    }
}
