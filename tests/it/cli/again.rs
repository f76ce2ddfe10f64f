//! Tests the commands that make a worker triage again, cancel, read again or remove.

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

fn triaged() -> (Sandbox, String) {
    let place = Sandbox::new().unwrap();
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let ran = place
        .run(&[
            "run",
            alert.to_str().unwrap(),
            "--format",
            "json",
            "--quiet",
        ])
        .unwrap();
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    (place, report["case_id"].as_str().unwrap().to_owned())
}

fn case(place: &Sandbox) -> Value {
    let list = place.run(&["cases", "list", "--json"]).unwrap();
    serde_json::from_str(list.stdout.lines().next().unwrap()).unwrap()
}

#[test]
fn a_case_that_is_over_is_queued_again_and_can_be_called_off() {
    let (place, id) = triaged();
    let ran = place.run(&["cases", "retry", &id]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("is triaged again by the next worker"),
        "{ran:?}"
    );
    assert_eq!(case(&place)["status"], "queued");
    assert_eq!(case(&place)["revision"], 2);
    let again = place.run(&["cases", "retry", &id]).unwrap();
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("still being triaged"), "{again:?}");

    let off = place.run(&["cases", "cancel", &id, "--by", "ana"]).unwrap();
    assert_eq!(off.code, Some(0), "{off:?}");
    assert_eq!(case(&place)["status"], "cancelled");
    let shown = place.run(&["cases", "show", &id]).unwrap();
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("called off by ana"), "{shown:?}");
    let shown = place.run(&["cases", "show", &id, "--json"]).unwrap();
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["cancelled_by"], "ana");
    let twice = place.run(&["cases", "cancel", &id, "--by", "ana"]).unwrap();
    assert!(twice.stderr.contains("cancelled already"), "{twice:?}");
}

#[test]
fn case_awaiting_next_triage_is_replayed_from_the_last_one() {
    let (place, id) = triaged();
    place.run(&["cases", "retry", &id]).unwrap();
    let ran = place.run(&["replay", &id, "--quiet"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stderr.trim(),
        format!("revision 2 of case {id} is not triaged yet: this is revision 1")
    );
    assert!(ran.stdout.contains("the same verdict"), "{ran:?}");
    for command in [&["replay"][..], &["cases", "export"]] {
        let named = [command, &[&id, "--revision", "2"]].concat();
        let ran = place.run(&named).unwrap();
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(
            ran.stderr.trim(),
            format!("error: case {id} has no journal of revision 2; there is that of revision 1")
        );
    }
}

#[test]
fn a_list_without_a_row_says_whether_there_are_cases_at_all() {
    let place = Sandbox::new().unwrap();
    place.run(&["migrate"]).unwrap();
    let none = place.run(&["cases", "list"]).unwrap();
    insta::assert_snapshot!(none.stderr.trim(), @"no cases yet; `nightshift run FILE` triages an alert, `nightshift demo --once` shows sample ones");
    let (place, _) = triaged();
    let filtered = place.run(&["cases", "list", "--feed", "ocsf"]).unwrap();
    insta::assert_snapshot!(filtered.stderr.trim(), @"no case is like that; `nightshift cases list` lists them all");
}

#[test]
fn what_is_about_an_account_is_removed_when_somebody_says_so() {
    let (place, _) = triaged();
    let account = case(&place)["account"].as_str().unwrap().to_owned();
    let asked = place
        .run(&["cases", "purge", "--account", &account])
        .unwrap();
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    let other = place
        .run(&["cases", "purge", "--account", "nobody", "--yes"])
        .unwrap();
    assert!(other.stdout.starts_with("0 alerts removed"), "{other:?}");
    let ran = place
        .run(&["cases", "purge", "--account", &account, "--yes"])
        .unwrap();
    assert!(ran.stdout.starts_with("1 alerts removed"), "{ran:?}");
    let list = place.run(&["cases", "list", "--json"]).unwrap();
    assert_eq!(list.stdout, "", "{list:?}");
    let nothing = place.run(&["cases", "purge", "--yes"]).unwrap();
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}
