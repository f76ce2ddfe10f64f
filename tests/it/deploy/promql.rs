//! Extracts the series and labels that a Prometheus query names. Prometheus itself checks the syntax.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::declared::{DeclaredMetric, of_series};

/// Labels that every scrape adds, in Kubernetes and elsewhere.
const OF_SCRAPES: [&str; 4] = ["job", "instance", "namespace", "pod"];

/// Returns the undeclared names of a query: series, and labels of series, of groupings and of `{{label}}` in texts.
pub(super) fn undeclared(
    query: &str,
    text: &str,
    declared: &BTreeMap<String, DeclaredMetric>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut known: BTreeSet<String> = OF_SCRAPES.map(str::to_owned).into();
    for (series, matchers) in selectors(query) {
        let Some((_, labels)) = of_series(&series, declared) else {
            wrong.push(format!("no series {series}"));
            continue;
        };
        for (label, _) in matchers {
            if !labels.contains(&label) && !OF_SCRAPES.contains(&label.as_str()) {
                wrong.push(format!("{series} has no label {label}"));
            }
        }
        known.extend(labels);
    }
    let used = groupings(query).into_iter().chain(placeholders(text));
    wrong.extend(
        used.filter(|label| !known.contains(label))
            .map(|label| format!("nothing in it has a label {label}")),
    );
    wrong
}

/// Returns the selectors of Nightshift's series: name, and each label with its value.
pub(super) fn selectors(query: &str) -> Vec<(String, Vec<(String, String)>)> {
    let selector = Regex::new(r"\b(nightshift_\w+)(?:\{([^}]*)\})?").unwrap();
    let matcher = Regex::new(r#"(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)""#).unwrap();
    selector
        .captures_iter(query)
        .map(|found| {
            let inside = found.get(2).map_or("", |inside| inside.as_str());
            let matchers = matcher
                .captures_iter(inside)
                .map(|one| (one[1].to_owned(), one[2].to_owned()));
            (found[1].to_owned(), matchers.collect())
        })
        .collect()
}

fn groupings(query: &str) -> Vec<String> {
    Regex::new(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
        .unwrap()
        .captures_iter(query)
        .flat_map(|found| {
            let labels = found[1].split(',').map(|label| label.trim().to_owned());
            labels.collect::<Vec<_>>()
        })
        .filter(|label| !label.is_empty())
        .collect()
}

/// Returns the labels in `{{label}}` of Grafana and `{{ $labels.label }}` of Prometheus.
fn placeholders(text: &str) -> Vec<String> {
    Regex::new(r"\{\{\s*(?:\$labels\.)?([a-z]\w*)\s*\}\}")
        .unwrap()
        .captures_iter(text)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn what_is_not_declared_is_named() {
    let metric = |sort, labels: &[&str]| DeclaredMetric {
        kind: sort,
        labels: labels.iter().map(|one| (*one).to_owned()).collect(),
    };
    let declared = BTreeMap::from([
        ("nightshift_a_total".to_owned(), metric("counter", &["x"])),
        ("nightshift_b_seconds".to_owned(), metric("histogram", &[])),
    ]);
    for (query, text, wrong) in [
        (
            r#"sum by (job, x) (rate(nightshift_a_total{x="1"}[5m]))"#,
            "{{x}}",
            "",
        ),
        (
            "sum by (le) (nightshift_b_seconds_bucket)",
            "{{ $value }}",
            "",
        ),
        ("nightshift_c", "", "no series nightshift_c"),
        ("nightshift_b_seconds", "", "no series nightshift_b_seconds"),
        (
            r#"nightshift_a_total{y=~"1"}"#,
            "",
            "nightshift_a_total has no label y",
        ),
        (
            "sum by (z) (nightshift_a_total)",
            "",
            "nothing in it has a label z",
        ),
        (
            "nightshift_a_total",
            "{{ $labels.z }}",
            "nothing in it has a label z",
        ),
    ] {
        assert_eq!(
            undeclared(query, text, &declared).join("; "),
            wrong,
            "{query}"
        );
    }
}
