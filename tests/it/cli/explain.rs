//! Tests the command that explains the work on an alert.

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

fn fixture(name: &str) -> String {
    repository_root()
        .join("tests/fixtures/playbooks")
        .join(name)
        .display()
        .to_string()
}

#[test]
fn each_alert_is_explained_and_nothing_is_kept() {
    let place = Sandbox::new().unwrap();
    let file = fixture("guardduty-ssh-brute-force.json");
    let ran = place.run(&["playbooks", "explain", &file]).unwrap();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let shown: Vec<&str> = ran.stdout.lines().take(13).collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    UnauthorizedAccess:EC2/SSHBruteForce  (guardduty, low)
      203.0.113[.]201 is performing SSH brute force attacks against i-0c4e9a71d2b36f580.

    Playbook   brute-force 1: Somebody guesses passwords
    Why        its type matches *UnauthorizedAccess:EC2?SSHBruteForce*, 36 characters spelt out; no other playbook fits
    Objective  Find out whether 203.0.113[.]201 got into jump-1, and what it did there

    Steps of the first plan
      lists: Look the source up in the watch lists: ours, Tor, known bad
          watchlist indicator=203.0.113[.]201
      facts: Tell whether the source is on the internet or on our own network
          indicator_facts indicator=203.0.113[.]201
      earlier: Read what earlier cases say about the same source and target
    ");
    for words in [
        "(finding('got_in') or finding('told_entry')",
        "CloudTrail not searched: no [[tool]] of kind log_search.cloudtrail is configured",
        "authorised_scanners: not configured",
    ] {
        assert!(
            ran.stdout.contains(words),
            "{words:?} is not in {}",
            ran.stdout
        );
    }
    assert!(!place.path().join("nightshift-data").exists());
}

#[test]
fn tools_of_configuration_and_of_route_profile_are_counted() {
    let place = Sandbox::new().unwrap();
    place
        .write_file(
            "scanners.csv",
            "id,subject,approved_by,valid_until,expected_findings\n",
        )
        .unwrap();
    let tool =
        "[[tool]]\nname = \"scanners\"\nkind = \"authorised_scanners\"\npath = \"scanners.csv\"\n";
    let file = fixture("guardduty-ssh-brute-force.json");
    let explained = |configuration: String| -> Value {
        place.write_file("nightshift.toml", configuration).unwrap();
        let ran = place
            .run(&["playbooks", "explain", &file, "--json"])
            .unwrap();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let all = explained(tool.to_owned());
    assert_eq!(all["alert"]["type"], "UnauthorizedAccess:EC2/SSHBruteForce");
    assert_eq!(all["playbook"]["name"], "brute-force");
    assert_eq!(all["steps"][0]["id"], "scanners");
    assert_eq!(all["steps"][0]["calls"][0]["tool"], "scanners");
    assert_eq!(
        all["clears"]["registers"][2]["values"][0], "203.0.113.201",
        "{all}"
    );
    let few = explained(format!(
        "{tool}[[profile]]\nname = \"default\"\ntools = [\"watchlist\"]\n"
    ));
    assert_eq!(few["steps"][0]["id"], "lists");
    assert!(
        few["left_out"]
            .as_array()
            .unwrap()
            .contains(&"scanners".into())
    );
}

#[test]
fn what_cannot_be_read_is_refused() {
    let place = Sandbox::new().unwrap();
    let ran = place
        .run_with_input(&["playbooks", "explain", "-"], b"{\"x\": 1}")
        .unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("unknown shape"), "{}", ran.stderr);
}

#[test]
fn text_of_an_alert_cannot_steer_the_terminal() {
    let place = Sandbox::new().unwrap();
    let text = std::fs::read_to_string(fixture("guardduty-ssh-brute-force.json")).unwrap();
    let evil = text.replace(
        "is performing",
        "\\u001b[2J\\u202e{{ subject }} is performing",
    );
    let ran = place
        .run_with_input(&["playbooks", "explain", "-"], evil.as_bytes())
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'));
    assert!(
        ran.stdout.contains("{{ subject }} is performing"),
        "{}",
        ran.stdout
    );
}
