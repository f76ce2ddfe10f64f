//! The shared state of all handlers: ports and templates.

use std::sync::{Arc, OnceLock};

use nightshift_engine::port::Clock;
use nightshift_pipeline::port::{Cases, Places};
use nightshift_pipeline::report::Sender;

use crate::health::{MetricsText, Readiness};
use crate::page::Templates;
use crate::server::Unopened;

/// Returns the URL of a remote id at a destination, given the destination's name, or `None` when there is none.
pub type DeliveryLinks = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// The parts that a server needs.
#[derive(Clone)]
pub struct Parts {
    pub cases: Arc<dyn Cases>,
    /// Counts of alerts by their place.
    pub places: Arc<dyn Places>,
    /// Links to deliveries.
    pub links: DeliveryLinks,
    /// The clock for ages.
    pub clock: Arc<dyn Clock>,
    /// The program's identity in reports of earlier revisions, which are rebuilt from their journals.
    pub sender: Sender,
    /// The parts that decide readiness.
    pub readiness: Vec<Arc<dyn Readiness>>,
    /// Metrics in the text format of Prometheus.
    pub metrics: MetricsText,
}

/// The state of every handler.
pub(crate) struct Site {
    pub(crate) parts: Parts,
    pub(crate) templates: Templates,
    /// Listeners that are not bound yet; unset before the first bind.
    pub(crate) unopened: OnceLock<Unopened>,
}
