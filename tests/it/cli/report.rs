//! Tests reports as scripts read them.

use std::collections::BTreeSet;

use nightshift_tests::{Sandbox, files_below, repository_root};
use serde_json::Value;

const KEYS: &[&str] = &[
    "schema",
    "case_id",
    "revision",
    "status",
    "alert",
    "verdict",
    "leaning",
    "reason",
    "confidence",
    "severity",
    "assessed_severity",
    "urgency",
    "title",
    "summary",
    "findings",
    "gaps",
    "would_decide",
    "actions",
    "steps",
    "insights",
    "timeline",
    "indicators",
    "techniques",
    "exonerations",
    "cost",
    "analyst",
    "models",
    "degraded",
];

fn fixture(name: &str) -> String {
    repository_root()
        .join("tests/fixtures/alerts")
        .join(name)
        .display()
        .to_string()
}

fn triage(place: &Sandbox, file: &str) -> Vec<Value> {
    let ran = place
        .run(&["run", file, "--format", "json", "--quiet"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{file}: {}", ran.stderr);
    assert_eq!(ran.stderr, "", "{file}: --quiet says nothing");
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn r1_the_crypto_miner_is_triaged_from_plan_to_proven_verdict() {
    let place = Sandbox::new().unwrap();
    let report = triage(&place, &fixture("scc-crypto-miner.json")).remove(0);
    for key in KEYS {
        assert!(report.get(*key).is_some(), "{key} is missing");
    }
    assert!(report["steps"].as_array().unwrap().len() >= 3);
    assert_eq!(report["verdict"], "true_positive");
    let findings = report["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["supported"], true, "{finding}");
        for quote in finding["evidence"].as_array().unwrap() {
            let stored = report["evidence"]
                .as_array()
                .unwrap()
                .iter()
                .find(|one| one["id"] == quote["id"])
                .unwrap_or_else(|| panic!("{quote} cites evidence that is not there"));
            let path = quote["path"].as_str().unwrap();
            if quote["id"] != "E0" || !path.starts_with("/raw") {
                let value = stored["body"]
                    .pointer(path)
                    .unwrap_or_else(|| panic!("{quote}"));
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                assert!(
                    quote["quote"].as_str().unwrap().ends_with(&text),
                    "{quote} against {text}"
                );
            }
        }
    }
}

#[test]
fn every_sample_is_triaged_and_the_wrapped_ones_show_one_key() {
    let place = Sandbox::new().unwrap();
    let mut keys: Vec<(String, BTreeSet<String>)> = Vec::new();
    for path in files_below(&repository_root().join("tests/fixtures/alerts")).unwrap() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let reports = triage(&place, &path.display().to_string());
        let of_file = reports
            .iter()
            .map(|report| report["alert"]["key"].as_str().unwrap().to_owned());
        keys.push((name, of_file.collect()));
    }
    assert!(keys.len() >= 9, "{keys:?}");
    let key = |name: &str| &keys.iter().find(|(file, _)| file == name).unwrap().1;
    assert_eq!(
        key("scc-crypto-miner.json"),
        key("pubsub-push-scc-crypto-miner.json")
    );
    assert_eq!(
        key("guardduty-eventbridge-credential-exfiltration.json"),
        key("sns-guardduty-credential-exfiltration.json")
    );
    assert_eq!(
        key("guardduty-finding.json"),
        key("guardduty-findings-list.json")
    );
    assert_eq!(
        key("guardduty-finding.json"),
        key("guardduty-eventbridge-dns.json")
    );
}

#[test]
fn a_known_key_is_triaged_again_as_a_revision() {
    let place = Sandbox::new().unwrap();
    let first = triage(&place, &fixture("ocsf-impossible-travel.json")).remove(0);
    let second = triage(&place, &fixture("ocsf-impossible-travel.json")).remove(0);
    assert_eq!(first["case_id"], second["case_id"]);
    assert_eq!(
        (&first["revision"], &second["revision"]),
        (&1.into(), &2.into())
    );
    let list = place.run(&["cases", "list", "--json"]).unwrap();
    assert_eq!(list.stdout.lines().count(), 1, "{}", list.stdout);
}

#[test]
fn a_case_can_be_shown_again_with_its_trace() {
    let place = Sandbox::new().unwrap();
    let report = triage(&place, &fixture("scc-crypto-miner.json")).remove(0);
    let id = report["case_id"].as_str().unwrap();
    let ran = place.run(&["cases", "show", id.get(..7).unwrap()]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for text in [id, "True positive", "Do this first", "journal: "] {
        assert!(
            ran.stdout.contains(text),
            "{text:?} is not in {}",
            ran.stdout
        );
    }
    assert!(!ran.stdout.contains("pool.minexmr.com/"), "no live link");
}

#[test]
fn r1_full_markdown_has_the_five_parts() {
    let place = Sandbox::new().unwrap();
    let file = fixture("scc-crypto-miner.json");
    let markdown = |more: &[&str]| {
        let ran = place.run(&[&["run", &file, "--quiet", "--format", "markdown"], more].concat());
        ran.unwrap().stdout
    };
    let full = markdown(&["--full"]);
    for part in [
        "## Summary",
        "## Key findings",
        "## Assessment",
        "## Uncertainties",
        "## Recommendations",
    ] {
        assert!(full.contains(part), "{part} is not in {full}");
    }
    let short = markdown(&[]);
    assert!(short.contains("nightshift cases show"), "{short}");
    assert!(!short.contains("## Assessment"), "{short}");
}

#[test]
fn the_plan_alone_runs_and_keeps_nothing() {
    let place = Sandbox::new().unwrap();
    let ran = place
        .run(&["run", &fixture("scc-crypto-miner.json"), "--plan-only"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("objective: ") && ran.stdout.contains("s3 "),
        "{}",
        ran.stdout
    );
    let list = place.run(&["cases", "list", "--json"]).unwrap();
    assert_eq!(list.stdout, "");
}

#[test]
fn file_destination_has_one_report_per_case_and_metrics() {
    let place = Sandbox::new().unwrap();
    place
        .write_file(
            "nightshift.toml",
            "[metrics]\ntextfile = \"metrics.prom\"\n[[destination]]\nname = \"archive\"\nkind = \"file\"\npath = \"reports\"\n\
             [[route]]\nwhen = { feed = \"scc\" }\ndestinations = [\"archive\"]\n",
        )
        .unwrap();
    let report = triage(&place, &fixture("scc-crypto-miner.json")).remove(0);
    triage(&place, &fixture("guardduty-finding.json"));
    let names: Vec<String> = std::fs::read_dir(place.path().join("reports"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        [format!("{}.r1.md", report["case_id"].as_str().unwrap())]
    );
    let metrics = std::fs::read_to_string(place.path().join("metrics.prom")).unwrap();
    for line in [
        "nightshift_cases_total{analyst=\"playbook\",feed=\"guardduty\"",
        "nightshift_lease_lost_total 0",
        "nightshift_budget_exhausted_total{cap=\"minutes\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert!(
        metrics
            .lines()
            .all(|line| line.starts_with('#') || line.starts_with("nightshift_"))
    );
}

#[test]
fn a_tool_is_called_by_hand() {
    let place = Sandbox::new().unwrap();
    let ran = place
        .run(&[
            "tools",
            "call",
            "watchlist",
            r#"{"indicator": "pool[.]minexmr[.]com"}"#,
        ])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let output: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(output["body"]["listed"], true);
}
