//! Tests the journal as people read it, its export, and the verification of the exported file alone.

use nightshift_tests::{ProgramOutput, Sandbox, repository_root};
use serde_json::Value;

/// Returns a place with one concluded case, and the id of the case.
fn triaged() -> (Sandbox, String) {
    let place = Sandbox::new().unwrap();
    let fixture = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let run = [
        "run",
        fixture.to_str().unwrap(),
        "--quiet",
        "--format",
        "json",
    ];
    let report: Value = serde_json::from_str(&ok(&place, &run)).unwrap();
    (place, report["case_id"].as_str().unwrap().to_owned())
}

fn ok(place: &Sandbox, arguments: &[&str]) -> String {
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout
}

/// Verifies the file in a folder without store or configuration.
fn verify(file: &str, more: &[&str]) -> ProgramOutput {
    let elsewhere = Sandbox::new().unwrap();
    let arguments = [&["cases", "verify", "-"], more].concat();
    let ran = elsewhere
        .run_with_input(&arguments, file.as_bytes())
        .unwrap();
    assert!(!elsewhere.path().join("nightshift-data").exists());
    ran
}

#[test]
fn an_exported_case_is_sound_on_any_machine() {
    let (place, id) = triaged();
    let file = ok(&place, &["cases", "export", &id]);
    let ran = verify(&file, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("True positive, recomputed"), "{ran:?}");
    assert!(
        ran.stdout.ends_with("sound: nothing is wrong with it\n"),
        "{ran:?}"
    );

    let told: Value = serde_json::from_str(&verify(&file, &["--json"]).stdout).unwrap();
    assert_eq!(told["sound"], true);
    assert_eq!(told["case_id"], id.as_str());
    assert_eq!(told["revisions"][0]["verdict"], "true_positive");
    let last: Value = serde_json::from_str(file.lines().last().unwrap()).unwrap();
    assert_eq!(told["head"], last["head"]);
    assert_eq!(told["revisions"][0]["checked"]["events"], last["events"]);
}

#[test]
fn each_revision_is_exported_alone_or_with_the_others() {
    let (place, id) = triaged();
    let fixture = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    ok(&place, &["run", fixture.to_str().unwrap(), "--quiet"]);
    let revisions = |more: &[&str]| {
        let out = [&["cases", "export", &id, "--out", "case.jsonl"], more].concat();
        ok(&place, &out);
        let told = ok(&place, &["cases", "verify", "case.jsonl", "--json"]);
        let told: Value = serde_json::from_str(&told).unwrap();
        let list = told["revisions"].as_array().unwrap().iter();
        list.map(|one| one["revision"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(revisions(&[]), [1, 2]);
    assert_eq!(revisions(&["--revision", "1"]), [1]);
    let none = place
        .run(&["cases", "export", &id, "--revision", "9"])
        .unwrap();
    assert_eq!(none.code, Some(2), "{none:?}");
}

#[test]
fn a_file_that_was_changed_is_told_with_its_line() {
    let (place, id) = triaged();
    let file = ok(&place, &["cases", "export", &id]);
    let changed = file.replacen("true_positive", "false_positiv", 1);
    let is_changed = |line: &str| line.contains("true_positive");
    let line = file.lines().position(is_changed).unwrap() + 1;
    let ran = verify(&changed, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("hash chain broken at line {line}:")),
        "{ran:?}"
    );
    let told: Value = serde_json::from_str(&verify(&changed, &["--json"]).stdout).unwrap();
    assert_eq!(told["sound"], false);
    assert_eq!(told["broken_line"], line);
    for no_journal in ["", "{}", "not JSON\n"] {
        assert_eq!(verify(no_journal, &[]).code, Some(2), "{no_journal:?}");
    }
    let none = place.run(&["cases", "verify", "nowhere.jsonl"]).unwrap();
    assert_eq!(none.code, Some(2), "{none:?}");
}

#[test]
fn a_raw_message_is_never_in_a_file_and_events_are_lines() {
    let (place, id) = triaged();
    let events = ok(&place, &["cases", "show", &id, "--events"]);
    let mut lines = events.lines();
    assert!(lines.next().unwrap().contains("  1  opened "), "{events}");
    assert!(
        lines.next_back().unwrap().contains("  1  concluded "),
        "{events}"
    );
    let json = ok(&place, &["cases", "show", &id, "--events", "--json"]);
    assert_eq!(json.lines().count(), events.lines().count());
    let file = ok(&place, &["cases", "export", &id]);
    for (event, line) in json.lines().zip(file.lines().skip(1)) {
        assert!(
            line.contains(event),
            "the file holds the events as they are kept"
        );
    }
}
