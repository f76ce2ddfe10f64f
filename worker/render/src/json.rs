//! Renders the report as JSON for machines: one line with the keys of design.md §6 and unchanged values.

use nightshift_alert::text::strip_hidden;
use nightshift_pipeline::report::Report;

/// Returns the report as one line of JSON. Values are not defanged. Invisible characters are escaped, so the line is
/// safe on a terminal and means the same.
#[must_use]
pub fn render_json(report: &Report) -> String {
    let line = serde_json::to_string(report).unwrap_or_default();
    let mut out = String::with_capacity(line.len());
    let mut units = [0; 2];
    for c in line.chars() {
        if c.is_ascii() && c != '\u{7f}' || !is_hidden(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

fn is_hidden(c: char) -> bool {
    let mut bytes = [0; 4];
    strip_hidden(c.encode_utf8(&mut bytes)).1 > 0
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fixture;

    /// The keys of design.md §6, in order.
    const KEYS: [&str; 33] = [
        "schema",
        "case_id",
        "revision",
        "status",
        "alert",
        "verdict",
        "leaning",
        "reason",
        "confidence",
        "severity",
        "assessed_severity",
        "urgency",
        "title",
        "summary",
        "findings",
        "gaps",
        "would_decide",
        "actions",
        "steps",
        "insights",
        "timeline",
        "indicators",
        "techniques",
        "exonerations",
        "ledger",
        "cost",
        "analyst",
        "models",
        "degraded",
        // These keys are not in design.md.
        "coverage",
        "reach",
        "evidence",
        "sender",
    ];

    fn keys(value: &Value) -> Vec<&str> {
        value
            .as_object()
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    fn has(value: &Value, pointer: &str, wanted: &[&str]) {
        let found = value
            .pointer(pointer)
            .unwrap_or_else(|| panic!("no {pointer}"));
        for key in wanted {
            assert!(keys(found).contains(key), "{pointer} has no {key}: {found}");
        }
    }

    #[test]
    fn every_key_of_the_design_is_there_with_its_shape() {
        let line = render_json(&fixture::true_positive());
        assert!(!line.contains('\n'));
        let value: Value = serde_json::from_str(&line).unwrap();
        for key in KEYS {
            assert!(keys(&value).contains(&key), "no {key}");
        }
        has(&value, "/alert", &["feed", "key", "type"]);
        has(&value, "/findings/0", &["claim", "supported", "evidence"]);
        has(&value, "/findings/0/evidence/0", &["id", "quote", "path"]);
        has(&value, "/actions/0", &["id", "text", "command"]);
        has(
            &value,
            "/steps/0",
            &["id", "description", "status", "outcome", "tools"],
        );
        has(&value, "/timeline/0", &["at", "what", "evidence"]);
        has(&value, "/indicators/0", &["type", "value", "role"]);
        has(
            &value,
            "/cost",
            &[
                "usd",
                "input_tokens",
                "cached_tokens",
                "output_tokens",
                "model_calls",
            ],
        );
        for list in [
            "gaps",
            "would_decide",
            "insights",
            "techniques",
            "exonerations",
            "models",
        ] {
            assert!(value[list].is_array(), "{list}");
        }
        assert_eq!(value["verdict"], "true_positive");
        assert_eq!(value["urgency"], "now");
        assert_eq!(value["status"], "concluded");
        assert_eq!(value["analyst"], "playbook");
        assert!(value["degraded"].is_boolean());
    }

    #[test]
    fn prompts_and_failover_fields_are_present_only_where_known() {
        let written =
            |report: &Report| -> Value { serde_json::from_str(&render_json(report)).unwrap() };
        let older = written(&fixture::true_positive());
        assert!(!keys(&older).contains(&"prompts"));
        assert!(!keys(&older).contains(&"instead_of"));
        let told = written(&fixture::handed_on(fixture::overridden()));
        assert_eq!(told["prompts"], "1a2b3c4d5e6f7081");
        assert_eq!(told["instead_of"]["soc-oncall"]["why"], "refused");
    }

    #[test]
    fn the_keys_stand_in_the_order_of_the_design() {
        let line = render_json(&fixture::true_positive());
        let places: Vec<usize> = KEYS[..28]
            .iter()
            .map(|key| {
                let at = line.find(&format!("\"{key}\":"));
                at.unwrap_or_else(|| panic!("no {key}"))
            })
            .collect();
        // `severity` and `title` also occur in `alert`. The other keys show the order.
        assert!(places[0] < places[1] && places[1] < places[2]);
        for pair in [
            "verdict",
            "leaning",
            "reason",
            "confidence",
            "assessed_severity",
            "urgency",
            "summary",
            "findings",
            "would_decide",
            "exonerations",
            "degraded",
        ]
        .windows(2)
        {
            let at = |key: &str| line.find(&format!("\"{key}\":"));
            assert!(at(pair[0]) < at(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a22_values_are_plain_and_nothing_in_the_line_moves_a_cursor() {
        let mut report = fixture::true_positive();
        report.summary = "to 185.220.101.42\n\u{1b}[31m\u{9b}2J\u{202e}\u{e0041}\u{7f}é".to_owned();
        let line = render_json(&report);
        assert!(!line.chars().any(char::is_control), "{line}");
        assert!(!line.contains(['\u{202e}', '\u{e0041}']));
        let back: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["summary"].as_str(), Some(report.summary.as_str()));
    }
}
