//! The circuits of all models, for those who plan work: is anybody there to answer, and when is it worth asking again.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::Breaker;
use super::breaker::State;

/// The circuits by the models' names in the configuration.
#[derive(Clone, Default)]
pub struct Circuits {
    breakers: BTreeMap<String, Breaker>,
}

/// Whether a chain of models answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The circuit of at least one is closed, and it does not refuse; or those that refuse are all there are.
    Up,
    /// None answers, and at least one because its circuit is open, so that waiting helps.
    Down {
        /// Since when all circuits are open that are.
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
        self.state(name).is_some_and(|state| state.open.is_some())
    }

    /// When a model whose circuit is open is asked next whether it is back; none where the circuit is closed.
    #[must_use]
    pub fn probe_at(&self, name: &str) -> Option<Instant> {
        self.state(name)?.open.map(|open| open.probe_at)
    }

    /// Whether a chain of models answers. One without models does.
    ///
    /// This is the same rule by which the chain itself tells an outage: what one that is down leaves to one that refuses
    /// for its key, its money or the form of requests has no answer before the first is back. It refuses until it has
    /// answered; the probes of a chain that is down ask it, too.
    #[must_use]
    pub fn health(&self, chain: &[&str]) -> Health {
        let states = chain.iter().map(|name| self.state(name));
        let states: Vec<State> = states.map(Option::unwrap_or_default).collect();
        if states
            .iter()
            .any(|state| state.open.is_none() && !state.refuses)
        {
            return Health::Up;
        }
        let opens = || states.iter().filter_map(|state| state.open);
        match (
            opens().map(|open| open.since).max(),
            opens().map(|open| open.probe_at).min(),
        ) {
            (Some(since), Some(probe_at)) => Health::Down { since, probe_at },
            _ => Health::Up,
        }
    }

    fn state(&self, name: &str) -> Option<State> {
        Some(*self.breakers.get(name)?.state().borrow())
    }
}
