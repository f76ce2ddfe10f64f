use std::time::Duration;

use super::*;

fn circuit(open: bool) -> Measure {
    Measure::Circuit {
        provider: "anthropic",
        model: "sonnet".to_owned(),
        open,
    }
}

/// The series of models whose value is such a one, without the prefix of all metrics.
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
fn the_series_of_a_model_begin_with_its_closed_circuit() {
    let metrics = Metrics::new().unwrap();
    assert_eq!(series(&metrics, |_| true), Vec::<String>::new());
    metrics.count(&circuit(false));
    // Five questions with fourteen outcomes each, five sums and counts of time, five kinds, cost, circuit.
    assert_eq!(
        series(&metrics, |value| value == "0").len(),
        70 + 10 + 5 + 2
    );
    assert_eq!(series(&metrics, |value| value != "0"), Vec::<String>::new());
}

#[test]
fn a_request_counts_in_time_tokens_and_money() {
    let metrics = Metrics::new().unwrap();
    metrics.count(&circuit(false));
    metrics.count(&Measure::ModelRequest {
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
    metrics.count(&circuit(true));
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
    metrics.canary(None);
    assert_eq!(series(&metrics), ["canary_timestamp_seconds 0"]);
    metrics.canary(DateTime::from_timestamp(1_795_176_000, 0));
    assert_eq!(series(&metrics), ["canary_timestamp_seconds 1795176000"]);
}
