//! Provides hostile reports for the tests of all ticket systems, and checks that nothing in them is live in a body.

use nightshift_pipeline::delivery_payload::{DeliveredReport, DeliveryPayload};
use nightshift_pipeline::report::Report;
use nightshift_render::Links;
use serde_json::{Value, json};

use crate::fixture;
use crate::fixture::replace;

/// Returns the links of these tests.
pub(super) fn links() -> Links {
    Links {
        public_url: Some("https://nightshift.example.com".into()),
    }
}

/// Returns reports of every kind with these strings in all foreign fields.
pub(super) fn reports(strings: &[String]) -> Vec<Report> {
    let kinds = [
        fixture::true_positive(),
        fixture::overridden(),
        fixture::benign(),
        fixture::failed(),
    ];
    kinds
        .into_iter()
        .map(|report| {
            let mut value = serde_json::to_value(&report).unwrap();
            replace(&mut value, &mut strings.iter().cycle().cloned());
            value["case_id"] = json!(report.case_id);
            serde_json::from_value(value).unwrap()
        })
        .collect()
}

/// Returns the longest report that an alert can cause: poison in all fields, with as many and as long actions as
/// possible.
pub(super) fn longest() -> Report {
    let mut report = fixture::hostile();
    let mut action = report.actions[0].clone();
    action.command = Some("echo \"<&>`'$\" ".repeat(140));
    action.undo.clone_from(&action.command);
    action.side_effect = Some(fixture::POISON.repeat(9));
    action.precondition.clone_from(&action.side_effect);
    report.actions = vec![action; 40];
    report.title = "👨‍👩‍👧‍👦e\u{301}\u{301}\u{301}\u{301}".repeat(300);
    report.case_id = "k3f9-x2mq-7d1w".into();
    report
}

/// Returns a later delivery of the same case, whose ticket exists and said something else.
pub(super) fn later(report: &Report) -> DeliveryPayload {
    let mut showing = DeliveryPayload::new(report.clone());
    showing.remote_id = Some("1".into());
    showing.delivered = Some(DeliveredReport::from_report(&fixture::true_positive()));
    showing.report.revision += 1;
    showing
}

/// Collects all strings and keys of a payload.
pub(super) fn strings_of(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings_of(item, into)),
        Value::Object(fields) => {
            for (name, value) in fields {
                into.push(name.clone());
                strings_of(value, into);
            }
        }
        _ => {}
    }
}

/// Checks attacks A04, A06, A15 and A22: nothing is clickable, mentions anybody, or is hidden. Links and commands of
/// Nightshift are skipped.
pub(super) fn check(payload: &Value, report: &Report) {
    let mut texts = Vec::new();
    strings_of(payload, &mut texts);
    let page = links().case_url(&report.case_id).unwrap();
    let console = nightshift_render::console(report).unwrap_or_else(|| page.clone());
    let commands: Vec<&String> = report
        .actions
        .iter()
        .flat_map(|action| [&action.command, &action.undo])
        .flatten()
        .collect();
    for text in texts {
        let mut text = text.replace(&page, "").replace(&console, "");
        for command in &commands {
            text = text.replace(command.trim(), "");
        }
        // These tokens mean something to some program wherever they appear. Each vendor's own parser checks the
        // syntax.
        for token in [
            "http://",
            "https://",
            "<!channel",
            "<@",
            "@everyone",
            "@here",
            "[~",
            "[code]",
            "javascript:",
        ] {
            let is_left = text.to_ascii_lowercase().contains(token);
            assert!(!is_left, "{token} in {text}");
        }
        let is_hidden = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!text.chars().any(is_hidden), "{text:?}");
    }
}

/// Checks attack A21: the token appears nowhere.
pub(super) fn has_no_secret(shown: &str) {
    assert!(!shown.contains("hush"), "{shown}");
    // This is `maria@example.com:hush` in base64, as it is sent.
    assert!(!shown.contains("bWFyaWF"), "{shown}");
}
