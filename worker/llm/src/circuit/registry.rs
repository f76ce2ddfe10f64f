//! Holds the circuits of all models, for schedulers of work: whether a chain answers, and when another attempt is
//! worthwhile.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::CircuitBreaker;
use super::breaker::BreakerState;

/// The circuits by model name in the configuration.
#[derive(Clone, Default)]
pub struct CircuitRegistry {
    breakers: BTreeMap<String, CircuitBreaker>,
}

/// Health of a chain of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainHealth {
    /// At least one model has a closed circuit and does not refuse, or all models refuse.
    Up,
    /// No model answers, and at least one circuit is open, so that waiting helps.
    Down {
        /// Time since which all those circuits are open.
        since: Instant,
        /// Time of the next probe.
        probe_at: Instant,
    },
}

impl CircuitRegistry {
    pub(crate) fn new(breakers: BTreeMap<String, CircuitBreaker>) -> Self {
        Self { breakers }
    }

    /// Returns whether a model's circuit is open; `false` for an unknown model.
    #[must_use]
    pub fn is_open(&self, name: &str) -> bool {
        self.state(name)
            .is_some_and(|state| state.open_circuit.is_some())
    }

    /// Returns the time of the next probe of a model, or `None` where the circuit is closed.
    #[must_use]
    pub fn probe_at(&self, name: &str) -> Option<Instant> {
        self.state(name)?.open_circuit.map(|open| open.probe_at)
    }

    /// Returns the health of a chain of models. An empty chain is up.
    ///
    /// The chain itself uses the same rule for an outage. A model that refuses because of its key, its money or the
    /// form of requests cannot replace one that is down. It counts as refusing until it answers; the probes of a
    /// chain that is down ask it too.
    #[must_use]
    pub fn health(&self, chain: &[&str]) -> ChainHealth {
        let states = chain.iter().map(|name| self.state(name));
        let states: Vec<BreakerState> = states.map(Option::unwrap_or_default).collect();
        if states
            .iter()
            .any(|state| state.open_circuit.is_none() && !state.refuses)
        {
            return ChainHealth::Up;
        }
        let opens = || states.iter().filter_map(|state| state.open_circuit);
        match (
            opens().map(|open| open.since).max(),
            opens().map(|open| open.probe_at).min(),
        ) {
            (Some(since), Some(probe_at)) => ChainHealth::Down { since, probe_at },
            _ => ChainHealth::Up,
        }
    }

    fn state(&self, name: &str) -> Option<BreakerState> {
        Some(*self.breakers.get(name)?.state().borrow())
    }
}
