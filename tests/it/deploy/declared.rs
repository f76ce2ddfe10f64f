//! The metrics as the program declares them: sort and labels of each, read from the one file that says them.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metric {
    /// As Prometheus says it: `counter`, `gauge`, `histogram`.
    pub(super) sort: &'static str,
    pub(super) labels: BTreeSet<String>,
}

/// All metrics by name.
pub(super) fn declared() -> BTreeMap<String, Metric> {
    let source = nightshift_tests::root().join("worker/cli/src/metrics.rs");
    let found = read(&std::fs::read_to_string(source).unwrap());
    assert!(found.len() > 20, "the search is broken: {found:?}");
    found
}

fn read(source: &str) -> BTreeMap<String, Metric> {
    let text = r#""(?:[^"\\]|\\.)*""#;
    let call = Regex::new(&format!(
        r#"declare\s*\.(\w+)\(\s*"(nightshift_\w+)",\s*{text},?([^()]*)\)"#
    ))
    .unwrap();
    let word = Regex::new(r#""(\w+)""#).unwrap();
    call.captures_iter(source)
        .map(|call| {
            let sort = match &call[1] {
                "counters" | "counter" | "amounts" => "counter",
                "gauges" | "gauge" | "levels" => "gauge",
                "histograms" | "histogram" => "histogram",
                other => panic!("{other}: which sort of metric is that?"),
            };
            let labels = word.captures_iter(&call[3]).map(|one| one[1].to_owned());
            let labels = labels.collect();
            (call[2].to_owned(), Metric { sort, labels })
        })
        .collect()
}

/// The metric that a series is of, and the labels that the series has.
pub(super) fn of_series<'a>(
    series: &str,
    declared: &'a BTreeMap<String, Metric>,
) -> Option<(&'a Metric, BTreeSet<String>)> {
    if let Some(metric) = declared.get(series) {
        return (metric.sort != "histogram").then(|| (metric, metric.labels.clone()));
    }
    ["_bucket", "_sum", "_count"].iter().find_map(|ending| {
        let metric = declared.get(series.strip_suffix(ending)?)?;
        let mut labels = metric.labels.clone();
        if *ending == "_bucket" {
            labels.insert("le".to_owned());
        }
        (metric.sort == "histogram").then_some((metric, labels))
    })
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
    assert_eq!(found["nightshift_a_total"].sort, "counter");
    assert!(found["nightshift_a_total"].labels.iter().eq(["x", "y"]));
    assert_eq!(found["nightshift_b_seconds"].sort, "histogram");
    assert!(of_series("nightshift_b_seconds", &found).is_none());
    let (_, labels) = of_series("nightshift_b_seconds_bucket", &found).unwrap();
    assert!(labels.iter().eq(["le"]));
}
