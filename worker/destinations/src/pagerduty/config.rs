//! Defines the configuration of a PagerDuty destination.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use nightshift_engine::key::KeyRef;
use url::Url;

use super::super::http::DestinationError;
use super::super::ticket_config::ticket_config;

/// The severities of an event in "Send an Alert Event".
pub(super) const SEVERITIES: [&str; 4] = ["critical", "error", "warning", "info"];

ticket_config! {
    /// `kind = "pagerduty"`: an alert of PagerDuty, by Events API v2.
    PagerDutyConfig {
        /// `https://events.pagerduty.com`, or that of the EU.
        #[serde(default = "events")]
        url: String,
        /// The integration key: `env:NAME` or `file:PATH`, read again at each event.
        routing_key: KeyRef,
        /// Severities of events by assessed severity: `critical`, `error`, `warning`, `info`.
        #[serde(default)]
        severities: Option<BTreeMap<Severity, String>>,
    }
}

/// Returns the endpoint of the service region of the United States.
fn events() -> String {
    "https://events.pagerduty.com".to_owned()
}

impl PagerDutyConfig {
    /// Validates the configuration and returns the address for events.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let mut url = self.access().check(&self.name, "url", &self.url)?;
        let known = |name: &String| SEVERITIES.contains(&name.as_str());
        if !self.severities.iter().flat_map(BTreeMap::values).all(known) {
            let problem = "holds one that is not critical, error, warning or info";
            return Err(DestinationError::bad(&self.name, "severities", problem));
        }
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(["v2", "enqueue"]);
        }
        Ok(url)
    }

    /// Returns the severity of an event.
    pub(super) fn severity(&self, assessed: Severity) -> &str {
        match (&self.severities, assessed) {
            (Some(names), _) => names.get(&assessed).map_or("critical", String::as_str),
            (None, Severity::Critical) => "critical",
            (None, Severity::High) => "error",
            (None, Severity::Medium) => "warning",
            (None, Severity::Low | Severity::Informational) => "info",
        }
    }
}
