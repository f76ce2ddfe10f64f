//! Tests the commands for people's work with cases, the export of that work, and test deliveries to destinations.

use nightshift_tests::Sandbox;
use serde_json::Value;

const CONFIG: &str = "[[destination]]\nname = \"archive\"\nkind = \"file\"\npath = \"reports\"\n\
    [[route]]\ndestinations = [\"archive\"]\n";

/// Returns a place with a configuration, and the id of a triaged case.
fn triaged() -> (Sandbox, String) {
    let place = Sandbox::new().unwrap();
    place.write_file("nightshift.toml", CONFIG).unwrap();
    let id = triaged_in(&place);
    (place, id)
}

/// Triages a case in this place and returns its id.
pub(super) fn triaged_in(place: &Sandbox) -> String {
    let finding = include_bytes!("../../fixtures/alerts/guardduty-finding.json");
    let ran = place
        .run_with_input(&["run", "-", "--quiet", "--format", "json"], finding)
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["case_id"].as_str().unwrap().to_owned()
}

#[test]
fn cases_are_listed_by_where_they_stand_with_people() {
    let (place, id) = triaged();
    let listed = |desk: &str| {
        let list = ["cases", "list", "--desk", desk];
        let ran = place.run(&list).unwrap();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout.contains(&id)
    };
    assert!(listed("open") && !listed("acknowledged"));
    place.run(&["cases", "ack", &id, "--by", "ana"]).unwrap();
    assert!(!listed("open") && listed("acknowledged") && !listed("closed"));
    let wrong = place.run(&["cases", "list", "--desk", "done"]).unwrap();
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let mend = "use open, acknowledged or closed";
    assert!(wrong.stderr.contains(mend), "{wrong:?}");
}

#[test]
fn a_case_is_taken_given_and_closed_and_that_is_shown() {
    let (place, id) = triaged();
    let ran = place.run(&["cases", "ack", &id, "--by", "ana"]).unwrap();
    assert_eq!(
        ran.stdout,
        format!("case {id}: acknowledged, ana has it\n"),
        "{ran:?}"
    );
    let assign = [
        "cases",
        "assign",
        &id,
        "--to",
        "bo",
        "--by",
        "ana",
        "--note",
        "your host",
    ];
    let ran = place.run(&assign).unwrap();
    assert_eq!(
        ran.stdout,
        format!("case {id}: acknowledged, bo has it\n"),
        "{ran:?}"
    );
    let close = [
        "cases",
        "close",
        &id,
        "--by",
        "bo",
        "--note",
        "rebuilt \u{1b}[31m",
        "--json",
    ];
    let desk: Value = serde_json::from_str(&place.run(&close).unwrap().stdout).unwrap();
    assert_eq!(desk["status"], "closed");
    assert_eq!(desk["acts"].as_array().unwrap().len(), 3);
    let again = place.run(&["cases", "retry", &id, "--by", "ana"]).unwrap();
    assert_eq!(again.code, Some(0), "{again:?}");
    let shown = place.run(&["cases", "show", &id]).unwrap().stdout;
    assert!(shown.contains("ana had it triaged again"), "{shown}");
    assert!(shown.contains("ana gave it to bo: your host"), "{shown}");
    assert!(shown.contains("bo closed it: rebuilt"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let nobody = place.run(&["cases", "close", "zzzz"]).unwrap();
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
}

#[test]
fn what_people_said_is_exported_a_line_each() {
    let (place, id) = triaged();
    let none = place.run(&["feedback", "export"]).unwrap();
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""), "{none:?}");
    let disagree = [
        "cases",
        "disagree",
        &id,
        "--verdict",
        "benign_true_positive",
        "--note",
        "the pen test",
        "--by",
        "ana",
    ];
    assert_eq!(place.run(&disagree).unwrap().code, Some(0));
    let ran = place
        .run(&["feedback", "export", "--out", "said.jsonl"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(place.path().join("said.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(line["case_id"], id.as_str());
    assert_eq!(line["verdict"], "benign_true_positive");
    assert_eq!(
        (&line["agreed"], &line["by"]),
        (&false.into(), &"ana".into())
    );
    assert_eq!(line["note"], "the pen test");
    assert_ne!(line["case_verdict"], line["verdict"]);
    assert!(line["type"].as_str().unwrap().contains(':'));
}

#[test]
fn a_destination_is_tried_with_a_sample_that_says_so() {
    let (place, id) = triaged();
    let ran = place.run(&["destinations", "test", "archive"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("archive took the sample report test-"),
        "{ran:?}"
    );
    let written = std::fs::read_dir(place.path().join("reports")).unwrap();
    let sample = written
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("test-")
        })
        .unwrap();
    let text = std::fs::read_to_string(sample).unwrap();
    assert!(
        text.contains("[SAMPLE]") && text.contains("nothing happened"),
        "{text}"
    );
    let listed = place.run(&["cases", "list"]).unwrap().stdout;
    assert!(!listed.contains("test-"), "a sample is no case");
    let wrong = place.run(&["destinations", "test", "sock"]).unwrap();
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("there are: archive"), "{wrong:?}");
    let none = place
        .run(&["destinations", "preview", "archive", &id])
        .unwrap();
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("has no preview"), "{none:?}");
}

const EVERYWHERE: &str = r#"
[web]
public_url = "https://nightshift.example.com"

[[destination]]
name = "soc"
kind = "slack"
channel = "C0123ABCD"
token = "env:NIGHTSHIFT_TEST_NO_SUCH_TOKEN"
signing_secret = "env:NIGHTSHIFT_TEST_NO_SUCH_SECRET"
analysts = ["U1"]
language = "ja"

[[destination]]
name = "jira"
kind = "jira"
url = "https://example.atlassian.net"
email = "nightshift@example.com"
token = "hush-hush-hush"
project = "SEC"
verdicts = ["inconclusive"]
severity_at_least = "low"
priorities = {}

[[destination]]
name = "snow"
kind = "servicenow"
url = "https://example.service-now.com"
user = "nightshift"
secret = "hush-hush-hush"
urgencies = { critical = [1, 2], high = [2, 2] }
fields = { assignment_group = "SOC" }
resolve = { state = "6", close_code = "Solved" }

[[destination]]
name = "pager"
kind = "pagerduty"
routing_key = "hush-hush-hush"

[[destination]]
name = "issues"
kind = "github"
token = "hush-hush-hush"
repo = "example/alerts"

[[route]]
when = { verdict = ["true_positive"] }
destinations = ["soc", "jira", "snow", "pager", "issues"]

[[route]]
destinations = ["soc"]

[digest]
at = "09:00"
timezone = "Europe/Madrid"
destination = "soc"
"#;

#[test]
fn every_kind_is_configured_and_shows_what_it_would_send() {
    let (place, id) = triaged();
    place.write_file("nightshift.toml", EVERYWHERE).unwrap();
    let checked = place.run(&["config", "check"]).unwrap();
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let shown = place.run(&["config", "show"]).unwrap();
    assert!(
        !shown.stdout.contains("hush"),
        "secrets are not shown: {shown:?}"
    );
    let at = |name: &str| -> Value {
        let ran = place.run(&["destinations", "preview", name, &id]).unwrap();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let slack = at("soc");
    let blocks = slack["blocks"].as_array().unwrap();
    assert!(
        blocks.iter().any(|block| block["type"] == "actions"),
        "{slack}"
    );
    assert!(
        slack
            .to_string()
            .contains("https://nightshift.example.com/cases/"),
        "{slack}"
    );
    let jira = at("jira");
    assert_eq!(jira["fields"]["project"]["key"], "SEC", "{jira}");
    assert_eq!(jira["fields"]["description"]["type"], "doc");
    assert_eq!(at("snow")["assignment_group"], "SOC");
    assert_eq!(at("pager")["event_action"], "trigger");
    assert!(at("issues")["title"].is_string());
    // A worker that delivers must report a missing secret at start-up.
    let worker = place.run(&["worker", "--only", "delivery"]).unwrap();
    assert_eq!(worker.code, Some(64), "{worker:?}");
    assert!(
        worker.stderr.contains("NIGHTSHIFT_TEST_NO_SUCH_TOKEN"),
        "{worker:?}"
    );
}

#[test]
fn a_destination_is_tried_without_a_database() {
    let place = Sandbox::new().unwrap();
    place.write_file("nightshift.toml", CONFIG).unwrap();
    let ran = place.run(&["destinations", "test", "archive"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let listed = place.run(&["cases", "list"]).unwrap();
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.stderr.contains("there is no database"), "{listed:?}");
}
