use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::DateTime;
use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::event::AnalystKind;

use super::*;

const SONNET: &str = "anthropic/sonnet";

/// Returns the model series with a matching value, without the common prefix.
fn series(metrics: &Metrics, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let text = metrics.text().unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("nightshift_"))
        .filter(|line| line.starts_with("llm_") && !line.contains("_bucket"))
        .filter(|line| wanted(line.rsplit(' ').next().unwrap_or_default()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn model_series_start_once_at_0_with_a_closed_circuit() {
    let metrics = Metrics::new().unwrap();
    assert_eq!(series(&metrics, |_| true), Vec::<String>::new());
    metrics.init_model(SONNET);
    // Five questions with fourteen outcomes each, five sums and counts of time, five kinds, cost, circuit.
    assert_eq!(
        series(&metrics, |value| value == "0").len(),
        70 + 10 + 5 + 2
    );
    assert_eq!(series(&metrics, |value| value != "0"), Vec::<String>::new());
    // A configuration that is read again without success does not change the state of a model.
    metrics.set_circuits(&BTreeMap::from([(SONNET, true)]));
    metrics.init_model(SONNET);
    assert_eq!(series(&metrics, |value| value == "1").len(), 1);
}

#[test]
fn a_request_counts_in_time_tokens_and_money() {
    let metrics = Metrics::new().unwrap();
    metrics.init_model(SONNET);
    metrics.count(&Measurement::ModelRequest {
        provider: "anthropic",
        model: "sonnet".to_owned(),
        question: "plan",
        outcome: "rate_limited",
        took: Duration::from_millis(1_500),
        tokens: ModelTokens {
            input: 1,
            cached: 2,
            cache_write: 3,
            output: 4,
            reasoning: 5,
        },
        usd: 0.25,
    });
    metrics.set_circuits(&BTreeMap::from([(SONNET, true)]));
    insta::assert_snapshot!(series(&metrics, |value| value != "0").join("\n"), @r#"
    llm_circuit_open{model="sonnet",provider="anthropic"} 1
    llm_cost_usd_total{model="sonnet",provider="anthropic"} 0.25
    llm_request_duration_seconds_sum{model="sonnet",provider="anthropic",question="plan"} 1.5
    llm_request_duration_seconds_count{model="sonnet",provider="anthropic",question="plan"} 1
    llm_requests_total{model="sonnet",outcome="rate_limited",provider="anthropic",question="plan"} 1
    llm_tokens_total{kind="cache_write",model="sonnet",provider="anthropic"} 3
    llm_tokens_total{kind="cached",model="sonnet",provider="anthropic"} 2
    llm_tokens_total{kind="input",model="sonnet",provider="anthropic"} 1
    llm_tokens_total{kind="output",model="sonnet",provider="anthropic"} 4
    llm_tokens_total{kind="reasoning",model="sonnet",provider="anthropic"} 5
    "#);
}

#[test]
fn a_canary_has_a_series_only_where_one_is_waited_for() {
    let metrics = Metrics::new().unwrap();
    let series = |metrics: &Metrics| -> Vec<String> {
        let text = metrics.text().unwrap();
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("nightshift_"));
        let lines = lines.filter(|line| line.starts_with("canary_"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(series(&metrics), Vec::<String>::new());
    metrics.set_last_canary(None);
    assert_eq!(series(&metrics), ["canary_timestamp_seconds 0"]);
    metrics.set_last_canary(DateTime::from_timestamp(1_795_176_000, 0));
    assert_eq!(series(&metrics), ["canary_timestamp_seconds 1795176000"]);
}

/// Returns the series with this beginning after the common prefix, with their values.
fn all(metrics: &Metrics, beginning: &str) -> Vec<String> {
    let text = metrics.text().unwrap();
    let ours = text
        .lines()
        .filter_map(|line| line.strip_prefix("nightshift_"));
    let lines = ours.filter(|line| line.starts_with(beginning));
    lines.map(str::to_owned).collect()
}

#[test]
fn known_series_start_at_0_so_that_first_failure_is_increase() {
    let metrics = Metrics::new().unwrap();
    for counter in ["cases_total", "deliveries_total", "tool_calls_total"] {
        assert_eq!(all(&metrics, counter).len(), 0);
    }
    let both = [AnalystKind::Playbook, AnalystKind::Model];
    metrics.init_cases(["edr"], &both);
    metrics.init_destination("soc");
    metrics.init_tool("assets");
    metrics.init_feed("edr");
    let ended = all(&metrics, "cases_total");
    // There are five feeds and Nightshift's own, two analysts, five severities, and four verdicts with failed and
    // cancelled.
    assert_eq!(ended.len(), 6 * 2 * 5 * 6);
    assert!(!ended.iter().any(|one| one.contains("canary")));
    assert!(ended.iter().all(|one| one.ends_with(" 0")));
    let took = Duration::from_secs(1);
    let ends = |status, verdict| Measurement::Case {
        feed: "edr".to_owned(),
        status,
        verdict,
        severity: Severity::High,
        analyst: AnalystKind::Model,
        took,
        steps: 1,
        model_calls: 1,
    };
    metrics.count(&ends("failed", Some(Verdict::Inconclusive)));
    metrics.count(&ends("concluded", Some(Verdict::TruePositive)));
    metrics.count(&ends("cancelled", None));
    metrics.count(&Measurement::Delivery {
        destination: "soc".to_owned(),
        outcome: "failed",
    });
    let called = |outcome| Measurement::ToolCall {
        tool: "assets".to_owned(),
        outcome,
        took,
    };
    metrics.count(&called("error"));
    metrics.count(&called("timeout"));
    metrics.count(&Measurement::ToolRefused {
        tool: "assets".to_owned(),
    });
    let counted: Vec<String> = ["cases", "deliveries", "tool_calls"]
        .iter()
        .flat_map(|of| all(&metrics, &format!("{of}_total")))
        .collect();
    assert_eq!(counted.len(), 360 + 2 + 5, "none of them is a new series");
    let first = counted.iter().filter(|line| line.ends_with(" 1"));
    assert_eq!(first.count(), 7);
    assert_eq!(all(&metrics, "alerts_total{feed=\"edr\"").len(), 7);
}

#[test]
fn what_waits_is_said_by_nobody_who_cannot_count_it() {
    let metrics = Metrics::new().unwrap();
    let of_waiting = |metrics: &Metrics| -> Vec<String> {
        ["inbox_", "outbox_", "dead_letters"]
            .iter()
            .flat_map(|of| all(metrics, of))
            .collect()
    };
    let backlog = Backlog {
        urgent: 1,
        running: 2,
        ..Backlog::default()
    };
    assert_eq!(of_waiting(&metrics).len(), 7);
    metrics.set_backlog(&backlog);
    metrics.clear_backlog();
    assert_eq!(of_waiting(&metrics), Vec::<String>::new());
    assert_eq!(
        all(&metrics, "cases_running"),
        ["cases_running 2"],
        "it says that there is a worker"
    );
    metrics.set_backlog(&backlog);
    assert_eq!(of_waiting(&metrics).len(), 7);
}

#[test]
fn failed_settlements_are_counted_and_no_sign_of_life() {
    let metrics = Metrics::new().unwrap();
    metrics.init_source("siem", false);
    metrics.init_source("posted", true);
    let unsettled = || -> Vec<String> {
        let mut found = all(&metrics, "messages_total");
        found.retain(|line| line.contains("unsettled"));
        found
    };
    let of = |source: &str, count: u32| {
        format!("messages_total{{outcome=\"unsettled\",source=\"{source}\"}} {count}")
    };
    assert_eq!(unsettled(), [of("posted", 0), of("siem", 0)]);
    metrics.count(&Measurement::Message {
        source: "siem".to_owned(),
        outcome: "unsettled",
    });
    assert_eq!(unsettled(), [of("posted", 0), of("siem", 1)]);
    let heard = all(&metrics, "last_alert");
    assert!(heard.iter().all(|line| line.ends_with(" 0")), "{heard:?}");
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|&name| name.to_owned()).collect()
}

fn day_of(cap: f64) -> Measurement {
    Measurement::DayBudget {
        spent: 4.5,
        spent_below_high: 2.0,
        cap,
        reserved: cap / 2.0,
    }
}

#[test]
fn day_cap_metric_follows_the_active_configuration() {
    let metrics = Metrics::new().unwrap();
    metrics.apply_config(ConfiguredNames {
        day_cap: Some(5.0),
        ..ConfiguredNames::default()
    });
    metrics.count(&day_of(5.0));
    // From the last cases of the old generation.
    metrics.count(&day_of(9.0));
    let day = [
        "budget_day_usd{state=\"cap\"} 5",
        "budget_day_usd{state=\"reserved\"} 2.5",
        "budget_day_usd{state=\"spent\"} 4.5",
        "budget_day_usd{state=\"spent_below_high\"} 2",
    ];
    assert_eq!(all(&metrics, "budget_day"), day);
}

#[test]
fn removed_configuration_names_are_no_longer_counted() {
    let metrics = Metrics::new().unwrap();
    for name in ["old", "new"] {
        metrics.init_source(name, true);
        metrics.init_feed(name);
        metrics.init_destination(name);
        metrics.init_tool(name);
        metrics.init_model(&format!("openai/{name}"));
    }
    let old = || -> Vec<String> {
        let of_old = |line: &String| line.contains("\"old\"");
        all(&metrics, "").into_iter().filter(of_old).collect()
    };
    let new = all(&metrics, "").len() - old().len();
    metrics.remove_stale_series();
    assert!(!old().is_empty(), "none was followed after another");
    metrics.apply_config(ConfiguredNames {
        sources: names(&["new"]),
        models: names(&["openai/new"]),
        feeds: names(&["new"]),
        tools: names(&["new"]),
        destinations: names(&["new"]),
        day_cap: Some(5.0),
        ..ConfiguredNames::default()
    });
    assert_eq!(old(), Vec::<String>::new());
    assert_eq!(all(&metrics, "").len(), new, "the others stay");
    // The last case of the old generation calls its tool and ends.
    metrics.count(&Measurement::ToolCall {
        tool: "old".to_owned(),
        outcome: "ok",
        took: Duration::ZERO,
    });
    assert!(!old().is_empty());
    metrics.remove_stale_series();
    assert_eq!(old(), Vec::<String>::new());
}

#[test]
fn removed_configuration_names_are_no_longer_exported() {
    let metrics = Metrics::new().unwrap();
    for name in ["siem", "drop"] {
        metrics.init_source(name, false);
        metrics.set_source_up(name, true);
    }
    metrics.set_source_up("posted", false);
    metrics.set_circuits(&BTreeMap::from([
        ("openai/old", true),
        ("openai/new", true),
    ]));
    metrics.count(&day_of(5.0));
    metrics.set_last_canary(Some(chrono::DateTime::UNIX_EPOCH));
    let shown = || -> Vec<String> {
        [
            "last_alert",
            "source_up",
            "llm_circuit",
            "canary",
            "budget_day",
        ]
        .iter()
        .flat_map(|of| all(&metrics, of))
        .collect()
    };
    assert_eq!(shown().len(), 2 + 3 + 2 + 1 + 4);
    metrics.apply_config(ConfiguredNames {
        sources: names(&["siem", "posted"]),
        read: names(&["siem"]),
        models: names(&["openai/new"]),
        ..ConfiguredNames::default()
    });
    // This value comes from the last case of the old generation.
    metrics.count(&day_of(5.0));
    assert_eq!(
        shown(),
        [
            "last_alert_timestamp_seconds{source=\"siem\"} 0",
            "source_up{source=\"siem\"} 1",
            "llm_circuit_open{model=\"new\",provider=\"openai\"} 1",
            "budget_day_usd{state=\"cap\"} 0",
            "budget_day_usd{state=\"reserved\"} 0",
            "budget_day_usd{state=\"spent\"} 0",
            "budget_day_usd{state=\"spent_below_high\"} 0",
        ]
    );
    metrics.apply_config(ConfiguredNames {
        sources: names(&["siem", "drop"]),
        read: names(&["siem", "drop"]),
        models: names(&["openai/new"]),
        canary: true,
        day_cap: Some(5.0),
        ..ConfiguredNames::default()
    });
    metrics.clear_sources();
    assert_eq!(all(&metrics, "source_up"), Vec::<String>::new());
    metrics.count(&day_of(5.0));
    assert_eq!(all(&metrics, "budget_day").len(), 4);
}
