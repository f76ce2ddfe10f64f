//! What Prometheus' operator and Grafana's sidecar are given: the files of the chart, whole.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::{folder, kind, list, named, of_set};

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
fn a_canary_is_late_after_three_intervals_of_the_chart_or_those_of_a_quarter_of_an_hour() {
    for (set, secs) in [("postgres-sqs", "> 1800"), ("own-configuration", "> 2700")] {
        let objects = of_set(set);
        let all = rules(&objects);
        let late = all
            .iter()
            .find(|one| one["alert"] == "NightshiftCanaryLate");
        let expression = late.unwrap()["expr"].as_str().unwrap();
        assert_eq!(expression.matches(secs).count(), 1, "{set}: {expression}");
    }
    let hourly = "config=[canary]\nevery_minutes = 60 # an hour\nkey = \"env:KEY\"\n,prometheusRule.enabled=true";
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
    // JSON is YAML.
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
