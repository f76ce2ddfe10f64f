//! What the answers are made from: the ports, and the templates.

use std::sync::{Arc, OnceLock};

use nightshift_engine::Clock;
use nightshift_pipeline::{Cases, Places, Sender};

use crate::health::{MetricsText, Readiness};
use crate::page::Templates;
use crate::server::Unopened;

/// Where people see what a destination of this name calls so, as the destination itself says; none where nobody can know.
pub type DeliveryLinks = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// What a server is made of.
#[derive(Clone)]
pub struct Parts {
    /// The cases.
    pub cases: Arc<dyn Cases>,
    /// Where accepted alerts ended.
    pub places: Arc<dyn Places>,
    /// Where people see what was delivered.
    pub links: DeliveryLinks,
    /// For ages.
    pub clock: Arc<dyn Clock>,
    /// What earlier revisions, whose reports are made again from their journals, say of the program.
    pub sender: Sender,
    /// What must be there for the process to be ready.
    pub readiness: Vec<Arc<dyn Readiness>>,
    /// Metrics in the text format of Prometheus.
    pub metrics: MetricsText,
}

/// What every handler gets.
pub(crate) struct Site {
    pub(crate) parts: Parts,
    pub(crate) templates: Templates,
    /// Addresses that nobody listens at yet; not known before the first is taken.
    pub(crate) unopened: OnceLock<Unopened>,
}
