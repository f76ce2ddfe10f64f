//! Runs a fake PagerDuty service for the tests. It accepts events as the Events API v2 does, and keeps one alert per
//! key while that is open.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::fake::{FakeRequest, FakeResponse, World};
use super::config::SEVERITIES;
use super::event::{EVENT_BYTES, SUMMARY};

/// The longest `dedup_key`, in characters.
const DEDUP_KEY: usize = 255;

/// The state of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Alert {
    /// The number of opened incidents.
    pub(crate) incidents: u32,
    pub(crate) state: &'static str,
    /// All events in order of arrival.
    pub(crate) events: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Service {
    pub(crate) alerts: BTreeMap<String, Alert>,
    pub(crate) is_full: bool,
}

impl Service {
    fn event(&mut self, body: &Value) -> Result<(), String> {
        let fields = body.as_object().ok_or("no object")?;
        let known = [
            "routing_key",
            "event_action",
            "dedup_key",
            "client",
            "client_url",
            "links",
            "payload",
        ];
        if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("'{name}' is unknown"));
        }
        if fields["routing_key"]
            .as_str()
            .is_none_or(|key| key.len() != 32)
        {
            return Err("'routing_key' is invalid (Expected 32 characters)".into());
        }
        if body.to_string().len() > EVENT_BYTES {
            return Err("too large".into());
        }
        let key = fields["dedup_key"]
            .as_str()
            .filter(|key| key.len() <= DEDUP_KEY);
        let key = key.ok_or("'dedup_key' is too long")?.to_owned();
        let action = fields["event_action"].as_str().unwrap_or_default();
        let alert = self.alerts.entry(key).or_default();
        alert.events.push(action.to_owned());
        match action {
            "trigger" => {
                payload(&fields["payload"])?;
                if !matches!(alert.state, "triggered" | "acknowledged") {
                    alert.incidents += 1;
                    alert.state = "triggered";
                }
            }
            // An alert that is not open does not change, and the event is accepted all the same.
            "acknowledge" if alert.state == "triggered" => alert.state = "acknowledged",
            "resolve" if alert.incidents > 0 => alert.state = "resolved",
            "acknowledge" | "resolve" => {}
            _ => return Err("'event_action' is invalid".into()),
        }
        Ok(())
    }
}

fn payload(payload: &Value) -> Result<(), String> {
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    if text("summary").is_empty() || text("summary").chars().count() > SUMMARY {
        return Err("'payload.summary' is missing or too long".into());
    }
    if text("source").is_empty() {
        return Err("'payload.source' is missing or blank".into());
    }
    if !SEVERITIES.contains(&text("severity")) {
        return Err("'payload.severity' is invalid (must be one of the following: 'critical', 'warning', 'error' or 'info')".into());
    }
    Ok(())
}

impl World for Service {
    fn answer(&mut self, ask: &FakeRequest, _: u64) -> FakeResponse {
        if (ask.method.as_str(), ask.path.as_str()) != ("POST", "/v2/enqueue") {
            return FakeResponse::new(404, json!("Not Found"));
        }
        assert_eq!(ask.header("content-type"), "application/json");
        if self.is_full {
            return FakeResponse::new(
                429,
                json!({ "status": "throttle exceeded", "message": "Requests for this service are arriving too quickly." }),
            );
        }
        match self.event(&ask.body) {
            Ok(()) => FakeResponse::new(
                202,
                json!({ "status": "success", "message": "Event processed", "dedup_key": ask.body["dedup_key"] }),
            ),
            Err(what) => FakeResponse::new(
                400,
                json!({ "status": "invalid event", "message": "Event object is invalid", "errors": [what] }),
            ),
        }
    }
}
