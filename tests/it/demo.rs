//! Tests `nightshift demo` as a new user runs it: in an empty folder, with nothing but the program.
//!
//! `EXPECTED` lists the verdict of each alert. `variants` changes records and logs under `nightshift run` to show
//! that they decide, and not the alert.

mod apart;
mod browser;
mod interrupted;
mod pages;
mod short;
mod variants;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use nightshift_tests::program_path;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// The end of each alert's key, its verdict and its leaning.
const EXPECTED: [(&str, &str, &str); 11] = [
    ("b9c8d7e6f5a4b3c2d1e0", "true_positive", "none"),
    ("a4c9b1d2e3f405162738495a6b7c8d9e", "true_positive", "none"),
    (
        "5e1f7a2b9c3d48e6a07b1c2d3e4f5061",
        "benign_true_positive",
        "none",
    ),
    ("7b2e9f0c1d3a4b5c6d7e8f9012345678", "false_positive", "none"),
    ("idtd-2026-000771", "inconclusive", "none"),
    ("c3d4e5f60718293a4b5c6d7e8f901a2b", "inconclusive", ""),
    ("unreadable", "inconclusive", "none"),
    (
        "e1f2031425364758697a8b9cadbecfd0",
        "inconclusive",
        "malicious",
    ),
    ("f00dfeed00112233445566778899aabb", "inconclusive", ""),
    (
        "0b1c2d3e4f5061728394a5b6c7d8e9f0",
        "benign_true_positive",
        "none",
    ),
    (
        "2c3d4e5f60718293a4b5c6d7e8f90a1b",
        "benign_true_positive",
        "none",
    ),
];

/// Returns a command that runs the program in this folder with a cleared environment.
fn nightshift(folder: &Path) -> Command {
    let mut command = Command::new(program_path().unwrap());
    command.current_dir(folder).env_clear();
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    nightshift(folder).args(arguments).output().unwrap()
}

/// Runs the program successfully and returns its standard output.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn cases(folder: &Path) -> BTreeMap<String, Value> {
    let listed = printed(folder, &["cases", "list", "--json"]);
    let cases: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let by_key: BTreeMap<String, Value> = cases
        .iter()
        .map(|case| (word(case, "key").to_owned(), case.clone()))
        .collect();
    assert_eq!(cases.len(), by_key.len(), "one case for one key: {listed}");
    by_key
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Checks that every alert has one case, concluded once with the expected verdict, and shown.
fn check_cases(folder: &Path) {
    let mut cases = cases(folder);
    // Unreadable messages open one case per hour, and the hour may change between two starts.
    cases.retain(|key, case| !key.contains("unreadable:") || word(case, "status") != "concluded");
    assert!(cases.len() == EXPECTED.len() - 1, "{:#?}", cases.keys());
    for (key, verdict, leaning) in EXPECTED.iter().filter(|(key, ..)| *key != "unreadable") {
        let case = cases
            .iter()
            .find(|(known, _)| known.ends_with(key))
            .map(|(_, case)| case)
            .unwrap_or_else(|| panic!("no case for {key}"));
        assert_eq!(word(case, "status"), "concluded", "{case:#}");
        assert_eq!(case["revision"], 1, "{case:#}");
        assert_eq!(word(case, "verdict"), *verdict, "{case:#}");
        if !leaning.is_empty() {
            assert_eq!(word(case, "leaning"), *leaning, "{case:#}");
        }
        let shown = printed(folder, &["cases", "show", word(case, "id"), "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        // The case was shown. Each sighting adds at most one edit, which may still be pending.
        let delivery = &shown["deliveries"][0];
        assert_ne!(delivery["sent"], 0, "{shown:#}");
        let edits = delivery["wanted"].as_u64().unwrap() - 1;
        assert!(edits <= case["sightings"].as_u64().unwrap(), "{shown:#}");
    }
}

/// Returns the rows of the closing table, one per line.
fn table(printed: &str) -> &str {
    printed
        .rsplit_once("Came as")
        .unwrap_or_else(|| panic!("no table in {printed}"))
        .1
}

#[test]
fn a_first_demo_prints_every_report_and_what_each_alert_was() {
    let folder = tempdir().unwrap();
    let output = printed(folder.path(), &["demo", "--once", "--quiet"]);
    let log = folder.path().join("nightshift-data/nightshift.db-wal");
    assert!(!log.exists(), "a copy of the file alone would be broken");
    check_cases(folder.path());
    for (key, case) in cases(folder.path()) {
        let heading = format!("case {} revision 1", word(&case, "id"));
        assert_eq!(output.matches(&heading).count(), 1, "report of {key}");
    }
    let table = table(&output);
    for word in [
        "True positive",
        "Benign true positive",
        "False positive",
        "Inconclusive",
        "sighting",
        "dead letter",
    ] {
        assert!(table.contains(word), "{word} is not in {table}");
    }
    assert!(output.contains("[SAMPLE]"));
}

#[test]
fn a_second_demo_shows_sightings_instead_of_new_cases() {
    let folder = tempdir().unwrap();
    printed(folder.path(), &["demo", "--once", "--quiet"]);
    let before = cases(folder.path());
    let again = printed(folder.path(), &["demo", "--once", "--quiet"]);
    check_cases(folder.path());
    let table = table(&again);
    // The unreadable message opens a new case when the hour has changed between the two runs.
    assert!(
        table.matches("sighting").count() >= EXPECTED.len(),
        "{table}"
    );
    for (key, case) in cases(folder.path()) {
        let Some(first) = before.get(&key) else {
            assert!(key.contains("unreadable:"), "{key} is new");
            continue;
        };
        assert_eq!(case["id"], first["id"]);
        assert_eq!(case["concluded_at"], first["concluded_at"]);
    }
}

#[test]
fn the_demo_says_what_it_does_on_stderr_and_is_quiet_when_asked() {
    let folder = tempdir().unwrap();
    let quiet = run(folder.path(), &["demo", "--once", "--quiet"]);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
    let told = run(folder.path(), &["demo", "--once"]);
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("10 messages hold 12 alerts"), "{told}");
}
