//! Builds the event that pages from the report, as plain text.

use nightshift_alert::text::{sanitize, single_line};
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::document::{Section, header};
use nightshift_render::outline;
use serde_json::{Map, Value, json};

use super::super::{case_id, ticket};
use super::config::PagerDutyConfig;

/// The longest `summary`, in characters.
pub(super) const SUMMARY: usize = 1_024;
/// The largest event, in bytes ("Events that are too large … 512 KB").
pub(super) const EVENT_BYTES: usize = 512 * 1024;
/// The part of an event for details, in UTF-16 units. Nobody reads more on a phone.
const DETAILS: usize = 24_000;
/// A unit is at most six bytes of JSON. Half of an event is left for the fields around the details.
const _: () = assert!(DETAILS * 6 < EVENT_BYTES / 2);
/// The longest name of a component, group or class.
const NAME: usize = 120;

/// Builds the event that pages, without its routing key.
pub(super) fn trigger(
    report: &Report,
    key: &str,
    config: &PagerDutyConfig,
) -> Result<Value, DeliveryError> {
    let document = ticket::read(report, config.language);
    let case = case_id(report)?;
    let alert = &report.alert;
    let title = header(report, config.language, SUMMARY);
    let summary = single_line(title.as_str());
    let named = |value: &Option<String>| value.as_deref().map(|value| sanitize(value, NAME));
    let source = named(&alert.subject).or_else(|| named(&alert.account));
    let payload = json!({
        "summary": ticket::bounded(summary.trim(), SUMMARY),
        "source": source.filter(|name| !name.is_empty()).unwrap_or_else(|| "nightshift".into()),
        "severity": config.severity(report.assessed_severity),
        "timestamp": alert.last_seen.unwrap_or(report.concluded_at),
        "component": named(&alert.resource_type),
        "group": named(&alert.account),
        "class": sanitize(&alert.kind, NAME),
        "custom_details": details(&document.sections, report, config),
    });
    let payload = match payload {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        _ => Map::new(),
    };
    let links: Vec<Value> = ticket::addresses(report, &config.links, config.language)
        .into_iter()
        .map(|(text, href)| json!({ "href": href, "text": text }))
        .collect();
    let mut event = json!({
        "event_action": "trigger", "dedup_key": key, "client": "Nightshift", "payload": payload,
        "links": links,
    });
    if let (Some(page), Some(fields)) = (config.links.case_url(case), event.as_object_mut()) {
        fields.insert("client_url".to_owned(), json!(page));
    }
    Ok(event)
}

/// Returns the first sections that fit, each under its heading.
fn details(sections: &[Section], report: &Report, config: &PagerDutyConfig) -> Map<String, Value> {
    let mut details = Map::new();
    let mut left = DETAILS;
    let mut is_cut = false;
    let pressing = sections.iter().filter(|one| ticket::is_pressing(one));
    for (number, section) in (1..).zip(pressing) {
        let lines = outline::lines(section, config.language).join("\n");
        let units = section.heading.len() + 3 + lines.encode_utf16().count();
        if units > left {
            is_cut = true;
            break;
        }
        left -= units;
        // PagerDuty sorts details by name.
        details.insert(format!("{number}. {}", section.heading), json!(lines));
    }
    if is_cut {
        let rest = ticket::shortened(report, config.language);
        details.insert("9. …".to_owned(), json!(rest.as_str()));
    }
    details
}
