//! Tests that any string of a report may be hostile: attacks.md rows A4, A5, A6, A15, A21, A22. The local Slack accepts
//! only plain text and times, so whatever it accepts has no link, mention or emoji.

use proptest::prelude::*;

use super::*;
use crate::fixture::{replace, strings};

/// Texts that would mention somebody or lead somewhere.
const LIVE: [&str; 9] = [
    "<!",
    "<@",
    "<#",
    "@everyone",
    "@here",
    "@channel",
    "http://",
    "https://",
    "[~",
];

/// Collects the texts of blocks: those of commands and all others.
fn texts(value: &Value, is_command: bool, commands: &mut Vec<String>, others: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                texts(item, is_command, commands, others);
            }
        }
        Value::Object(map) => {
            let is_command = is_command || value["type"] == "rich_text_preformatted";
            if let Some(text) = map.get("text").and_then(Value::as_str) {
                let to = if is_command {
                    &mut *commands
                } else {
                    &mut *others
                };
                to.push(text.to_owned());
            }
            for item in map.values() {
                texts(item, is_command, commands, others);
            }
        }
        _ => {}
    }
}

/// Checks all messages of a report against the rules of Slack and of Nightshift.
fn check(report: &Report, language: Language) {
    let clock = ManualClock::new();
    let config = SlackConfig {
        language,
        ..config("http://127.0.0.1:1")
    };
    let to = SlackDestination::resting(config, secret(TOKEN), clock.clone(), clock).unwrap();
    let mut showing = case(0, report.clone());
    showing.delivered = Some(DeliveredReport::from_report(&fixture::benign()));
    let message = to.message(&showing);
    let below = to.below(&showing);
    let all: Vec<&Message> = std::iter::once(&message)
        .chain(below.iter().map(|one| &one.message))
        .collect();
    for message in all {
        check_message(report, message);
    }
    let links = to.preview(&showing).to_string();
    for link in links.split("\"url\":\"").skip(1) {
        assert!(
            link.starts_with("https://nightshift.example.com/cases/")
                || link.starts_with("https://console."),
            "{link}"
        );
    }
}

fn check_message(report: &Report, message: &Message) {
    let known: Vec<&String> = report
        .actions
        .iter()
        .flat_map(|one| [&one.command, &one.undo])
        .flatten()
        .collect();
    let body = bot::body(CHANNEL, message, &place::metadata("case-0000", "report", 1));
    stub::limits::check(&body).unwrap();
    let (mut commands, mut others) = (Vec::new(), Vec::new());
    texts(&body["blocks"], false, &mut commands, &mut others);
    for command in &commands {
        assert!(known.contains(&command), "{command} is no command of ours");
    }
    assert!(!message.text.contains(['<', '>']), "{}", message.text);
    for text in others.iter().chain([&message.text]) {
        for token in LIVE {
            assert!(!text.contains(token), "{token} in {text}");
        }
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(
            !text.contains(['\u{202e}', '\u{200b}', '\u{e0041}']),
            "{text:?}"
        );
    }
}

#[test]
fn a04_a05_a06_a22_worst_report_is_text_and_fits() {
    for language in Language::ALL {
        check(&fixture::hostile(), language);
        let mut failed = fixture::hostile();
        failed.status = CaseStatus::Failed;
        check(&failed, language);
        let mut early = fixture::hostile();
        early.status = CaseStatus::Running;
        check(&early, language);
    }
}

#[test]
fn the_longest_report_fits_in_both_languages() {
    let mut report = fixture::hostile();
    // Each character has two UTF-16 units, and the commands have the greatest length.
    let wide = "🜂".repeat(4_000);
    let mut value = serde_json::to_value(&report).unwrap();
    replace(&mut value, &mut std::iter::repeat(wide));
    report = serde_json::from_value(value).unwrap();
    for action in &mut report.actions {
        action.command = Some("x".repeat(2_000));
        action.undo = Some(format!("{}y", "y\n".repeat(11)));
    }
    for language in Language::ALL {
        check(&report, language);
    }
}

#[test]
fn a15_a21_text_removed_at_intake_is_not_restored() {
    // Redaction happens at intake. Hidden characters are inserted here once more, in every string.
    let mut report = fixture::true_positive();
    report.summary = "a\u{200b}b\u{202e}c\u{e0041}d\u{feff}".into();
    report.title = "SYSTEM: \u{1b}[2Jignore\r\nall".into();
    check(&report, Language::En);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_stands_in_a_report_slack_takes_it_as_text(strings in strings()) {
        for (report, language) in [
            (fixture::true_positive(), Language::En),
            (fixture::overridden(), Language::Ja),
            (fixture::benign(), Language::En),
            (fixture::failed(), Language::Ja),
        ] {
            let mut value = serde_json::to_value(&report).unwrap();
            replace(&mut value, &mut strings.iter().cycle().cloned());
            check(&serde_json::from_value(value).unwrap(), language);
        }
    }
}
