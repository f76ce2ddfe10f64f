//! Defines the shared state of all handlers: ports and templates.

use std::sync::{Arc, OnceLock};

use nightshift_engine::port::Clock;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::{AlertLedger, Cases};
use nightshift_pipeline::report::ReportProducer;

use crate::health::{MetricsText, Readiness};
use crate::page::Templates;
use crate::server::Listener;

/// Returns the URL of a remote id at a destination, given the destination's name, or `None` when there is none.
pub type DeliveryLinks = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// The parts that a server needs.
#[derive(Clone)]
pub struct ServerParts {
    pub cases: Arc<dyn Cases>,
    /// Counts of alerts by their place.
    pub ledger: Arc<dyn AlertLedger>,
    /// Links to deliveries.
    pub links: DeliveryLinks,
    /// The clock for ages.
    pub clock: Arc<dyn Clock>,
    /// The program's identity in reports of earlier revisions, which are rebuilt from their journals.
    pub producer: ReportProducer,
    /// The parts that decide readiness.
    pub readiness: Vec<Arc<dyn Readiness>>,
    /// Metrics in the text format of Prometheus.
    pub metrics: MetricsText,
}

/// The state of every handler.
pub(crate) struct AppState {
    pub(crate) parts: ServerParts,
    pub(crate) templates: Templates,
    /// The language of the pages.
    pub(crate) language: Language,
    /// The listeners of the server; unset before they are bound.
    pub(crate) listeners: OnceLock<Vec<Arc<Listener>>>,
}
