//! Tests the alert rules: `promtool` runs the tests of each, each uses declared metrics, and each has a section in
//! the runbook.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use nightshift_tests::{Sandbox, repository_root};
use regex::Regex;

use super::declared::declared_metrics;
use super::named;
use super::promql::undeclared;

/// Tests of when each rule fires and when it does not; the second file covers more than a week.
const TESTS: [&str; 2] = [
    "helm/nightshift/files/alerts.test.yaml",
    "tests/it/deploy/feeds.test.yaml",
];

fn text(path: &str) -> String {
    std::fs::read_to_string(repository_root().join(path)).unwrap()
}

fn rules() -> BTreeMap<String, String> {
    let file = text("helm/nightshift/files/alerts.yaml");
    let rules: BTreeMap<_, _> = file
        .split("- alert: ")
        .skip(1)
        .map(|rule| {
            let (name, rest) = rule.split_once('\n').unwrap();
            (name.to_owned(), rest.to_owned())
        })
        .collect();
    assert!(rules.len() > 10, "the search is broken: {rules:?}");
    rules
}

/// Returns the query of a rule, on one line or several.
fn query(rule: &str) -> String {
    let (_, rest) = rule.split_once("expr: ").unwrap();
    let end = Regex::new(r"\n        (?:for|labels):").unwrap();
    let query = end.split(rest).next().unwrap();
    query.trim_start_matches("|-\n").to_owned()
}

/// Returns the sections of the runbook that are about an alert.
fn sections() -> BTreeMap<String, String> {
    let runbook = text("docs/runbook.md");
    let sections = runbook.split("\n## ").skip(1);
    sections
        .map(|section| {
            let (name, rest) = section.split_once('\n').unwrap();
            (name.to_owned(), rest.trim_start().to_owned())
        })
        .collect()
}

fn promtool(arguments: &[&str]) {
    let ran = Command::new(named("NIGHTSHIFT_TEST_PROMTOOL"))
        .args(arguments)
        .current_dir(repository_root())
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{arguments:?}: {}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
#[cfg_attr(not(has_prometheus), ignore = "tests/services installs prometheus")]
fn promtool_takes_the_rules_and_each_fires_when_it_should() {
    promtool(&["check", "rules", "helm/nightshift/files/alerts.yaml"]);
    promtool(&["test", "rules", TESTS[0]]);
}

#[test]
#[cfg_attr(not(has_prometheus), ignore = "tests/services installs prometheus")]
fn promtool_finds_the_feeds_that_are_silent_and_no_other() {
    promtool(&["test", "rules", TESTS[1]]);
}

#[test]
fn every_rule_is_seen_to_fire() {
    let tests = TESTS.map(text).concat();
    let fires = |name: &String| tests.contains(&format!("alertname=\"{name}\""));
    let never: Vec<_> = rules().into_keys().filter(|name| !fires(name)).collect();
    assert_eq!(never, Vec::<String>::new());
}

#[test]
fn rules_ask_only_what_is_declared() {
    let declared = declared_metrics();
    let wrong: Vec<_> = rules()
        .iter()
        .flat_map(|(name, rule)| {
            let wrong = undeclared(&query(rule), rule, &declared);
            wrong.into_iter().map(move |what| format!("{name}: {what}"))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_case_that_waits_for_models_wakes_nobody() {
    let defaults: toml::Table = text("worker/cli/config.default.toml").parse().unwrap();
    let waits_secs = defaults["limits"]["models_down_wait_secs"]
        .as_integer()
        .unwrap();
    let time = Regex::new(r"\n        for: (\d+)m\n").unwrap();
    let rules = rules();
    let found = time.captures(&rules["NightshiftNoSuccess"]).unwrap();
    let minutes: i64 = found[1].parse().unwrap();
    assert!(minutes * 60 > waits_secs, "{minutes} minutes");
}

#[test]
fn urgent_cases_that_wait_for_models_as_they_should_wake_nobody() {
    let defaults: toml::Table = text("worker/cli/config.default.toml").parse().unwrap();
    let waits = |key: &str| defaults["limits"][key].as_integer().unwrap();
    let rules = rules();
    let below = |what: &str| -> i64 {
        let bound = Regex::new(&format!(r"{what}\) < (\d+)\n")).unwrap();
        let found = bound.captures(&rules["NightshiftUrgentCasesWaiting"]);
        found.unwrap()[1].parse().unwrap()
    };
    // The limits leave room for claiming, reporting and scraping.
    let success = below("nightshift_last_success_timestamp_seconds");
    assert!(success >= waits("models_down_urgent_wait_secs") + 120);
    let oldest = below("nightshift_inbox_urgent_oldest_seconds");
    assert!(oldest >= waits("models_down_wait_secs") + 120);
}

#[test]
fn every_rule_has_its_runbook_section_and_vice_versa() {
    let (rules, sections) = (rules(), sections());
    assert_eq!(
        rules.keys().collect::<BTreeSet<_>>(),
        sections.keys().collect::<BTreeSet<_>>()
    );
    let severity = Regex::new(r"severity: (page|ticket)\n").unwrap();
    for (name, rule) in &rules {
        let url = format!(
            "runbook_url: docs/runbook.md#{}\n",
            name.to_ascii_lowercase()
        );
        assert!(rule.contains(&url), "{name}: {rule}");
        let severity = &severity.captures(rule).unwrap()[1];
        let section = &sections[name];
        assert!(section.starts_with(&format!("`{severity}`. ")), "{name}");
        for part in ["**Look**", "**Mend**"] {
            let is_there = section.contains(part) || section.contains(&part.to_lowercase());
            assert!(is_there, "{name}: {part}");
        }
    }
}

#[test]
fn the_commands_of_the_runbook_are_those_of_the_program() {
    let place = Sandbox::new().unwrap();
    let runbook = text("docs/runbook.md");
    let command = Regex::new(r"(?:`|\n)nightshift ([a-z][^`\n|]*)").unwrap();
    let mut tried = 0;
    for found in command.captures_iter(&runbook) {
        // `N` is a placeholder for a number. The program parses the words before `--help` first and refuses unknown
        // ones.
        let arguments = found[1].split_whitespace().collect::<Vec<_>>();
        let told = arguments.iter().filter(|one| **one != "--help");
        let mut asked: Vec<&str> = told
            .map(|one| if *one == "N" { "1" } else { one })
            .collect();
        asked.push("--help");
        let ran = place.run(&asked).unwrap();
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        for flag in asked.iter().filter(|one| one.starts_with("--")) {
            assert!(ran.stdout.contains(*flag), "{arguments:?}: {flag}");
        }
        tried += 1;
    }
    assert!(tried > 10, "the search is broken: {tried}");
}
