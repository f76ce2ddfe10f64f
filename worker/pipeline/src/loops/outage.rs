//! What cases do while the models are down: they wait, and those that waited long enough get the playbook's report.
//!
//! Running cases were released at their turn without an attempt (the engine does that). When the circuit lets a request
//! through, a question about nothing tries whether the models are back; then what was concluded without them is triaged
//! again.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Triage, Waited};

/// Whether the models can be asked.
#[async_trait]
pub trait ModelHealth: Send + Sync {
    /// Whether none of them can be.
    fn are_down(&self) -> bool;

    /// Whether one request may try whether they are back.
    fn may_probe(&self) -> bool;

    /// Tries it, with a question that no case is about and that costs a few tokens.
    async fn probe(&self);
}

/// What is done while the models are down.
#[derive(Clone)]
pub struct Outage {
    /// Whether they are.
    pub health: Arc<dyn ModelHealth>,
    /// Triages what has waited long enough: with analysts that do not wait for a model.
    pub overdue: Triage,
    /// How long cases wait.
    pub waits: Waited,
}
