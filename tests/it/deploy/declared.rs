//! Reads the metrics from the one file that declares them: name, kind and labels of each.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// Metrics that scripts, dashboards and rules of others rely on: name, kind and labels. A new metric or label needs a
/// decision record.
const FIXED: [(&str, &str, &str); 40] = [
    ("messages_total", "counter", "source outcome"),
    ("alerts_total", "counter", "feed outcome"),
    ("last_alert_timestamp_seconds", "gauge", "source"),
    ("inbox_depth", "gauge", "lane"),
    ("inbox_oldest_seconds", "gauge", ""),
    // docs/decisions/0029-a-figure-for-how-long-urgent-cases-wait.md
    ("inbox_urgent_oldest_seconds", "gauge", ""),
    ("dead_letters", "gauge", ""),
    ("cases_running", "gauge", ""),
    (
        "cases_total",
        "counter",
        "feed status verdict severity analyst",
    ),
    ("case_duration_seconds", "histogram", ""),
    ("case_steps", "histogram", ""),
    ("case_model_calls", "histogram", ""),
    ("steps_total", "counter", "status outcome"),
    ("reflections_total", "counter", "result"),
    ("plan_updates_total", "counter", "type result"),
    (
        "llm_requests_total",
        "counter",
        "provider model question outcome",
    ),
    (
        "llm_request_duration_seconds",
        "histogram",
        "provider model question",
    ),
    ("llm_tokens_total", "counter", "provider model kind"),
    ("llm_cost_usd_total", "counter", "provider model"),
    ("llm_circuit_open", "gauge", "provider model"),
    ("budget_day_usd", "gauge", "state"),
    ("budget_exhausted_total", "counter", "cap"),
    ("tool_calls_total", "counter", "tool outcome"),
    ("tool_duration_seconds", "histogram", "tool"),
    ("evidence_claims_total", "counter", "result"),
    ("verdicts_overridden_total", "counter", "rule"),
    ("manipulation_suspected_total", "counter", ""),
    ("deliveries_total", "counter", "destination outcome"),
    ("outbox_depth", "gauge", ""),
    ("outbox_oldest_seconds", "gauge", ""),
    ("lease_lost_total", "counter", ""),
    ("cases_resumed_total", "counter", ""),
    ("feedback_total", "counter", "agreed"),
    ("canary_timestamp_seconds", "gauge", ""),
    ("last_success_timestamp_seconds", "gauge", ""),
    // docs/decisions/0022-a-figure-for-sources-that-are-away.md
    ("source_up", "gauge", "source"),
    // docs/decisions/0026-a-figure-for-a-refused-configuration.md
    ("configuration_refused", "gauge", ""),
    // docs/decisions/0030-a-ledger-of-subjects.md
    ("rechecks_total", "counter", "result"),
    // docs/decisions/0036-metrics-for-a-full-disk-and-refused-clicks.md
    ("store_disk_full", "gauge", ""),
    ("slack_refused_total", "counter", ""),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeclaredMetric {
    /// The kind as Prometheus names it: `counter`, `gauge`, `histogram`.
    pub(super) kind: &'static str,
    pub(super) labels: BTreeSet<String>,
}

pub(super) fn declared_metrics() -> BTreeMap<String, DeclaredMetric> {
    let source = nightshift_tests::repository_root().join("worker/cli/src/metrics.rs");
    let found = read(&std::fs::read_to_string(source).unwrap());
    assert!(found.len() > 20, "the search is broken: {found:?}");
    found
}

fn read(source: &str) -> BTreeMap<String, DeclaredMetric> {
    let text = r#""(?:[^"\\]|\\.)*""#;
    let call = Regex::new(&format!(
        r#"declare\s*\.(\w+)\(\s*"(nightshift_\w+)",\s*{text},?([^()]*)\)"#
    ))
    .unwrap();
    let word = Regex::new(r#""(\w+)""#).unwrap();
    call.captures_iter(source)
        .map(|call| {
            let sort = match &call[1] {
                "counters" | "counter" | "float_counter_vec" => "counter",
                "gauges" | "gauge" | "float_gauge_vec" => "gauge",
                "histograms" | "histogram" => "histogram",
                other => panic!("{other}: which kind of metric is that?"),
            };
            let labels = word.captures_iter(&call[3]).map(|one| one[1].to_owned());
            let labels = labels.collect();
            (call[2].to_owned(), DeclaredMetric { kind: sort, labels })
        })
        .collect()
}

/// Returns the metric that a series belongs to, and the labels of the series.
pub(super) fn of_series<'a>(
    series: &str,
    declared: &'a BTreeMap<String, DeclaredMetric>,
) -> Option<(&'a DeclaredMetric, BTreeSet<String>)> {
    if let Some(metric) = declared.get(series) {
        return (metric.kind != "histogram").then(|| (metric, metric.labels.clone()));
    }
    ["_bucket", "_sum", "_count"].iter().find_map(|ending| {
        let metric = declared.get(series.strip_suffix(ending)?)?;
        let mut labels = metric.labels.clone();
        if *ending == "_bucket" {
            labels.insert("le".to_owned());
        }
        (metric.kind == "histogram").then_some((metric, labels))
    })
}

#[test]
fn metrics_are_the_ones_that_others_rely_on_and_no_more() {
    let fixed = FIXED.map(|(name, sort, labels)| {
        let labels = labels.split_whitespace().map(str::to_owned).collect();
        (
            format!("nightshift_{name}"),
            DeclaredMetric { kind: sort, labels },
        )
    });
    assert_eq!(declared_metrics(), BTreeMap::from(fixed));
}

#[test]
fn declarations_are_read_with_sort_and_labels() {
    let source = r#"
        a: declare.counters("nightshift_a_total", "Says \"a\".", &["x", "y"])?,
        b: declare.histogram(
            "nightshift_b_seconds",
            "Time.",
            SECONDS,
        )?,
    "#;
    let found = read(source);
    assert_eq!(found["nightshift_a_total"].kind, "counter");
    assert!(found["nightshift_a_total"].labels.iter().eq(["x", "y"]));
    assert_eq!(found["nightshift_b_seconds"].kind, "histogram");
    assert!(of_series("nightshift_b_seconds", &found).is_none());
    let (_, labels) = of_series("nightshift_b_seconds_bucket", &found).unwrap();
    assert!(labels.iter().eq(["le"]));
}
