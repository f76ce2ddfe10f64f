//! Tests dashboards over several installations: backlogs are summed, and ages are those of the worst installation.

use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use super::dashboards::{asked, dashboards};
use super::named;

/// The metrics of two installations ten minutes after the start: two workers of `a`, which read the same store
/// moments apart, and one of `b`.
const SAID: [(&str, [u64; 3]); 14] = [
    ("cases_running", [3, 2, 5]),
    ("inbox_depth{lane=\"urgent\"}", [3, 2, 5]),
    ("inbox_oldest_seconds", [3, 2, 5]),
    ("inbox_urgent_oldest_seconds", [3, 2, 5]),
    ("outbox_depth", [3, 2, 5]),
    ("outbox_oldest_seconds", [3, 2, 5]),
    ("dead_letters", [3, 2, 5]),
    ("budget_day_usd{state=\"spent\"}", [3, 2, 5]),
    // Unix times; installation `a` is behind.
    ("last_success_timestamp_seconds", [100, 200, 500]),
    ("canary_timestamp_seconds", [100, 200, 500]),
    (
        "last_alert_timestamp_seconds{source=\"s\"}",
        [100, 200, 500],
    ),
    ("configuration_refused", [1, 0, 1]),
    ("store_disk_full", [1, 0, 1]),
    ("llm_circuit_open{provider=\"p\",model=\"m\"}", [1, 0, 1]),
];

/// The expected value of each gauge panel, by title.
const SHOWN: [(&str, &str, u64); 16] = [
    ("Cases that wait", "{lane=\"urgent\"}", 8),
    ("Oldest case that waits", "{}", 5),
    ("Cases triaged now", "{}", 8),
    ("Reports that a destination does not show yet", "{}", 8),
    ("Oldest report to be shown", "{}", 5),
    ("Oldest of them", "{}", 5),
    ("Dead letters", "{}", 8),
    ("The day's budget", "{state=\"spent\"}", 8),
    ("Since the last success", "{}", 400),
    ("Since the last canary", "{}", 400),
    (
        "Since the last message of each source",
        "{source=\"s\"}",
        400,
    ),
    ("Configuration refused", "{}", 2),
    ("Models that are down", "{}", 2),
    ("Model is down", "{provider=\"p\",model=\"m\"}", 1),
    ("Sources away, databases full", "{}", 2),
    ("Processes scraped", "{}", 3),
];

/// Returns a series of one worker of an installation.
fn series(name: &str, installation: &str, worker: usize) -> String {
    let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
    let more = labels.trim_end_matches('}');
    let comma = if more.is_empty() { "" } else { "," };
    format!(
        "nightshift_{name}{{job=\"n\",namespace=\"{installation}\",instance=\"{worker}\"{comma}{more}}}"
    )
}

fn said() -> Vec<Value> {
    let away = ("source_up{source=\"s\"}", [0, 0, 0]);
    let all = SAID.into_iter().chain([away]);
    let each = all.flat_map(|(name, values)| {
        let workers = ["a", "a", "b"].into_iter().zip(values).enumerate();
        workers.map(move |(number, (installation, value))| {
            let series = series(name, installation, number);
            json!({"series": series, "values": format!("{value}x10")})
        })
    });
    each.collect()
}

#[test]
#[cfg_attr(not(has_prometheus), ignore = "tests/services installs prometheus")]
fn panels_sum_backlog_and_show_oldest_across_installations() {
    let counts = Regex::new(r"\b(?:rate|increase)\(").unwrap();
    let dashboards = dashboards();
    let panels = dashboards.values().flat_map(|one| asked(one, "expr"));
    let gauges: Vec<_> = panels
        .filter(|(_, query, _)| !counts.is_match(query))
        .collect();
    let never = SHOWN
        .iter()
        .find(|(title, ..)| gauges.iter().all(|one| one.0 != *title));
    assert_eq!(never, None);
    let tests: Vec<_> = gauges
        .into_iter()
        .map(|(panel, query, _)| {
            let shown = SHOWN.iter().find(|one| one.0 == panel);
            let (_, labels, value) = shown.unwrap_or_else(|| panic!("{panel} has no line here"));
            let query = query.replace("$job", ".*").replace("$namespace", ".*");
            json!({"expr": query, "eval_time": "10m", "exp_samples": [{"labels": labels, "value": value}]})
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("several.test.yaml");
    let test = json!({"interval": "1m", "input_series": said(), "promql_expr_test": tests});
    let all = json!({"rule_files": [], "evaluation_interval": "1m", "tests": [test]});
    std::fs::write(&file, all.to_string()).unwrap();
    let ran = Command::new(named("NIGHTSHIFT_TEST_PROMTOOL"))
        .args(["test", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}
