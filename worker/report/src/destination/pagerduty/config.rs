//! Defines the configuration of a PagerDuty destination.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use url::Url;

use super::super::http::{DestinationError, HttpOptions};
use super::super::policy::TicketPolicy;
use crate::{Language, Links};

/// The endpoint of the service region of the United States.
const EVENTS: &str = "https://events.pagerduty.com";
/// The severities of an event in "Send an Alert Event".
pub(super) const SEVERITIES: [&str; 4] = ["critical", "error", "warning", "info"];

/// An Events API v2 integration of a PagerDuty service.
#[derive(Clone)]
pub struct PagerDutyConfig {
    /// The name in configuration and metrics.
    pub name: String,
    /// The endpoint: `https://events.pagerduty.com`, or `https://events.eu.pagerduty.com`.
    pub url: String,
    /// Network access to the API.
    pub access: HttpOptions,
    /// The severities of events by assessed severity: `critical`, `error`, `warning` or `info`.
    pub severities: BTreeMap<Severity, String>,
    /// The policy that decides which reports page.
    pub policy: TicketPolicy,
    /// The language of labels and sentences of Nightshift.
    pub language: Language,
    /// The links that reports contain.
    pub links: Links,
}

impl Default for PagerDutyConfig {
    fn default() -> Self {
        let severities = [
            (Severity::Critical, "critical"),
            (Severity::High, "error"),
            (Severity::Medium, "warning"),
            (Severity::Low, "info"),
            (Severity::Informational, "info"),
        ];
        Self {
            name: String::new(),
            url: EVENTS.into(),
            access: HttpOptions::default(),
            severities: severities
                .into_iter()
                .map(|(severity, name)| (severity, name.to_owned()))
                .collect(),
            policy: TicketPolicy::default(),
            language: Language::default(),
            links: Links::default(),
        }
    }
}

impl PagerDutyConfig {
    /// Validates the configuration and returns the address for events.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let mut url = self.access.check(&self.name, "url", &self.url)?;
        let known = |name: &String| SEVERITIES.contains(&name.as_str());
        if !self.severities.values().all(known) {
            let problem = "holds one that is not critical, error, warning or info";
            return Err(DestinationError::bad(&self.name, "severities", problem));
        }
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().extend(["v2", "enqueue"]);
        }
        Ok(url)
    }
}
