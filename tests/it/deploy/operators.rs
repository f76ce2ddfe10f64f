//! Tests the chart's objects for the Prometheus operator and Grafana's sidecar: they contain the files of the chart
//! unchanged.

use std::collections::BTreeSet;
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use super::{folder, kind, list, named, of_set, rendered};

fn rules(objects: &[Value]) -> Vec<&Value> {
    let groups = list(&kind(objects, "PrometheusRule")[0]["spec"]["groups"]);
    groups.iter().flat_map(|one| list(&one["rules"])).collect()
}

fn names(rules: &[&Value]) -> BTreeSet<String> {
    let names = rules.iter().map(|one| one["alert"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn all_rules_are_installed_but_those_that_are_left_out() {
    let file = std::fs::read_to_string(folder().join("files/alerts.yaml")).unwrap();
    let (all, fewer) = (of_set("postgres-sqs"), of_set("own-configuration"));
    let (all, fewer) = (rules(&all), rules(&fewer));
    assert_eq!(all.len(), file.matches("- alert: ").count());
    let left: Vec<_> = names(&all).difference(&names(&fewer)).cloned().collect();
    assert_eq!(
        left,
        ["NightshiftMostlyInconclusive", "NightshiftSourceSilent"]
    );
    for rule in all {
        let url = rule["annotations"]["runbook_url"].as_str().unwrap();
        let runbook = "https://git.example.com/nightshift/blob/main/docs/runbook.md#nightshift";
        assert!(url.starts_with(runbook), "{url}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn rules_are_of_the_installation_that_has_them() {
    let objects = of_set("postgres-sqs");
    let metric = Regex::new("nightshift_[a-z_]+(.{0,21})").unwrap();
    for rule in rules(&objects) {
        let expression = rule["expr"].as_str().unwrap();
        let mut found = metric.captures_iter(expression).peekable();
        assert!(found.peek().is_some(), "{expression}");
        for one in found {
            assert_eq!(&one[1], r#"{namespace="security""#, "{expression}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn canary_is_late_after_three_intervals_or_three_quarter_hours() {
    for (set, secs) in [("postgres-sqs", "> 1800"), ("own-configuration", "> 2700")] {
        let objects = of_set(set);
        let all = rules(&objects);
        let late = all
            .iter()
            .find(|one| one["alert"] == "NightshiftCanaryLate");
        let expression = late.unwrap()["expr"].as_str().unwrap();
        assert_eq!(expression.matches(secs).count(), 1, "{set}: {expression}");
    }
    let hourly = "config=[canary]\nevery_minutes = 60 # an hour\nkey = \"env:KEY\"\n,only={triage},prometheusRule.enabled=true";
    let objects = super::rendered(&["--set", hourly]);
    let all = rules(&objects);
    let mut late = all
        .iter()
        .filter(|one| one["expr"].as_str().unwrap().contains("> 10800"));
    assert_eq!(late.next().unwrap()["alert"], "NightshiftCanaryLate");
    let objects = of_set("postgres-sqs");
    let pods = super::pods(&objects);
    let variables: Vec<_> = pods
        .iter()
        .flat_map(|pod| list(&pod["containers"][0]["env"]))
        .filter(|one| one["name"].as_str().unwrap().contains("__CANARY__"))
        .map(|one| one["value"].as_str().unwrap())
        .collect();
    assert!(variables.contains(&"10"), "{variables:?}");
    assert!(variables.contains(&"file:/run/secrets/nightshift/canary-key"));
}

#[test]
#[cfg_attr(
    not(all(has_helm, has_prometheus)),
    ignore = "tests/services installs helm and prometheus"
)]
fn promtool_takes_the_rules_as_the_chart_writes_them() {
    let objects = of_set("postgres-sqs");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    // JSON is valid YAML.
    std::fs::write(
        &file,
        kind(&objects, "PrometheusRule")[0]["spec"].to_string(),
    )
    .unwrap();
    let ran = Command::new(named("NIGHTSHIFT_TEST_PROMTOOL"))
        .args(["check", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Checks the rule on late canaries with an interval of four hours, beside another installation with another
/// interval.
#[test]
#[cfg_attr(
    not(all(has_helm, has_prometheus)),
    ignore = "tests/services installs helm and prometheus"
)]
fn late_canary_alert_names_its_installation_at_long_intervals() {
    let values =
        "existingSecret=s,canary.keyKey=k,canary.everyMinutes=240,prometheusRule.enabled=true";
    let objects = rendered(&["--set", values]);
    let mut all = rules(&objects).into_iter();
    let late = all.find(|one| one["alert"] == "NightshiftCanaryLate");
    let folder = tempfile::tempdir().unwrap();
    let rules = json!({"groups": [{"name": "chart", "rules": [late]}]});
    std::fs::write(folder.path().join("rules.yaml"), rules.to_string()).unwrap();
    let series = |namespace: &str| {
        let of = |name: &str, values: &str| {
            let labels = format!("{{job=\"n\", namespace=\"{namespace}\"}}");
            json!({"series": format!("nightshift_{name}{labels}"), "values": values})
        };
        let seen = of("canary_timestamp_seconds", "0x59 3600x9 stale");
        [of("cases_running", "0x2000"), seen]
    };
    // The canary is seen at one hour and then gone. It is late after three intervals of four hours, and the rule then
    // fires for as long again.
    let firing = |minutes: u32, found: &[Value]| {
        let query = r#"count by (namespace) (ALERTS{alertstate="firing"})"#;
        json!({"expr": query, "eval_time": format!("{minutes}m"), "exp_samples": found})
    };
    let ours = [json!({"labels": r#"{namespace="security"}"#, "value": 1})];
    let asked = [
        firing(775, &[]),
        firing(790, &ours),
        firing(1500, &ours),
        firing(1515, &[]),
    ];
    let series = [series("security"), series("other")].concat();
    let test = json!({"interval": "1m", "input_series": series, "promql_expr_test": asked});
    let tests = json!({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]});
    let file = folder.path().join("late.test.yaml");
    std::fs::write(&file, tests.to_string()).unwrap();
    let ran = Command::new(named("NIGHTSHIFT_TEST_PROMTOOL"))
        .args(["test", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn dashboards_are_those_of_the_files() {
    let objects = of_set("postgres-sqs");
    let mut seen = 0;
    for map in kind(&objects, "ConfigMap") {
        if map["metadata"]["labels"]["grafana_dashboard"] != "1" {
            continue;
        }
        assert_eq!(map["metadata"]["annotations"]["grafana_folder"], "Security");
        for (name, text) in map["data"].as_object().unwrap() {
            let file = folder()
                .join("files/dashboards")
                .join(name.trim_start_matches("nightshift-"));
            let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            let text: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
            assert_eq!(text, file);
            seen += 1;
        }
    }
    assert_eq!(seen, 2);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn prometheus_scrapes_the_service_of_metrics_alone() {
    let objects = of_set("postgres-sqs");
    let monitor = &kind(&objects, "ServiceMonitor")[0]["spec"];
    let wanted = monitor["selector"]["matchLabels"].as_object().unwrap();
    let found: Vec<_> = kind(&objects, "Service")
        .into_iter()
        .filter(|service| {
            let labels = &service["metadata"]["labels"];
            wanted.iter().all(|(key, value)| labels[key] == *value)
        })
        .collect();
    assert_eq!(found.len(), 1);
    let port = &list(&found[0]["spec"]["ports"])[0]["name"];
    assert_eq!(list(&monitor["endpoints"])[0]["port"], *port);
}
