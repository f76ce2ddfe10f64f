//! Checks that `docs/journal.md` names every key that an event may have.

use std::collections::{BTreeMap, BTreeSet};

use nightshift_engine::event::{Event, EventBody};
use nightshift_tests::repository_root;
use regex::Regex;
use serde_json::{Value, json};

use super::text;

/// Returns the kinds of events that have a row, each with the words in backticks.
fn rows() -> BTreeMap<String, BTreeSet<String>> {
    let row = Regex::new(r"(?m)^\| `([a-z_]+)` \| (.*) \|$").unwrap();
    let word = Regex::new(r"`([a-z_]+)`").unwrap();
    let page = text("docs/journal.md".as_ref());
    let words = |text: &str| {
        word.captures_iter(text)
            .map(|one| one[1].to_owned())
            .collect()
    };
    row.captures_iter(&page)
        .map(|one| (one[1].to_owned(), words(&one[2])))
        .collect()
}

/// Returns the JSON of an event, with its optional keys filled in.
fn whole(line: &str) -> Value {
    let mut event: Value = serde_json::from_str(line).unwrap();
    let left_out = match event["event"].as_str().unwrap() {
        "opened" => {
            json!({"previous_run": {"revision": 1, "failed": false, "verdict": "inconclusive", "leaning": "none",
            "severity": "high", "urgency": "now", "why": "asked"}})
        }
        "finished" => {
            json!({"model": "anthropic/claude-sonnet-4-6", "degraded": {"error": "timeout", "what": "120 s"}})
        }
        "withdrawn" => {
            json!({"cost": {"usd": 0.1, "input_tokens": 9, "cached_tokens": 0, "output_tokens": 0,
            "model_calls": 1}, "in_line": true})
        }
        _ => json!({}),
    };
    let left_out = left_out.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(left_out);
    let event: Event = serde_json::from_value(event).unwrap();
    serde_json::to_value(event).unwrap()
}

#[test]
fn every_key_of_an_event_stands_on_the_page() {
    let rows = rows();
    let kinds: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(kinds, EventBody::KINDS.iter().copied().collect());
    let mut written: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in std::fs::read_dir(repository_root().join("tests/fixtures/journals/v1")).unwrap() {
        let journal = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in journal.lines() {
            let event = whole(line);
            let kind = event["event"].as_str().unwrap().to_owned();
            let keys = event.as_object().unwrap().keys().cloned();
            written.entry(kind).or_default().extend(keys);
        }
    }
    // The keys of `concluded` are those of a report and are documented elsewhere.
    written.remove("concluded");
    for (kind, key) in [
        ("opened", "previous_run"),
        ("finished", "degraded"),
        ("withdrawn", "cost"),
        ("withdrawn", "in_line"),
    ] {
        assert!(written[kind].contains(key), "{kind}: {key}");
    }
    for (kind, keys) in written {
        let told = &rows[&kind];
        let missing: Vec<&String> = keys
            .iter()
            .filter(|key| !["at", "event"].contains(&key.as_str()) && !told.contains(*key))
            .collect();
        assert_eq!(missing, Vec::<&String>::new(), "{kind}");
    }
}
