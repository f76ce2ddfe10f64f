//! Tests the standard variables of OpenTelemetry, and `[traces]` above them.

use nightshift_tests::{Collector, Sandbox};

use crate::worker::fixture::{place, put};

const SCC: &str = "scc-crypto-miner";

/// Runs a worker with these variables until it has shown one report.
fn works(mut place: Sandbox, variables: &[(&str, &str)]) {
    for (name, value) in variables {
        place.set_env(name, value);
    }
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn otel_variables_name_the_collector_and_its_headers() {
    let collector = Collector::start().await;
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base_url()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=soc".to_owned()),
        ("OTEL_SERVICE_NAME", "night-watch".to_owned()),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment.name=lab".to_owned(),
        ),
    ];
    let variables = variables
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    works(place(""), &variables);
    let spans = collector.case_spans();
    assert!(spans.iter().any(|span| span.name == "triage"), "{spans:#?}");
    collector.case_trees();
    let tenants = collector.header_values("x-tenant");
    assert!(!tenants.is_empty() && tenants.iter().all(|tenant| tenant == "soc"));
    let text = collector.raw_text();
    for word in ["night-watch", "deployment.environment.name", "lab"] {
        assert!(text.contains(word), "{word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configuration_overrides_otel_variables() {
    let (named, other) = (Collector::start().await, Collector::start().await);
    let rest = "service_name = \"soc\"\nheaders = { x-tenant = \"ours\" }";
    let endpoint = other.base_url();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=theirs,x-also=yes"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_SERVICE_NAME", "theirs"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ];
    works(
        place(&named.config_table(&format!("{rest}\nsample_ratio = 1.0"))),
        &variables,
    );
    assert!(named.case_spans().iter().any(|span| span.name == "triage"));
    assert!(
        named
            .header_values("x-tenant")
            .iter()
            .all(|tenant| tenant == "ours")
    );
    assert!(
        named
            .header_values("x-also")
            .iter()
            .all(|also| also == "yes")
    );
    assert!(!named.raw_text().contains("theirs"));
    assert!(other.spans().is_empty());
}

/// Checks that the variables never keep a worker from starting, because an operator of Kubernetes may inject them.
#[test]
fn unusable_otel_variables_are_one_warning_and_no_traces() {
    for (name, value, has_problem) in [
        // The address is unencrypted and belongs to another machine.
        ("OTEL_SERVICE_NAME", "soc", false),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", true),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem", true),
    ] {
        let mut place = place("");
        place.set_env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel.invalid:4317");
        place.set_env(name, value);
        put(&place, SCC, "s1");
        let mut worker = place.start(&["worker"]).unwrap();
        worker.wait_for_line("report shown");
        worker.signal("TERM");
        let (status, _, lines) = worker.wait_for_exit();
        assert_eq!(status.code(), Some(0), "{lines:#?}");
        let text = "WARN cannot use OTEL_* variables; no traces are exported";
        let warnings = lines.iter().filter(|line| line.contains(text)).count();
        assert_eq!(warnings, usize::from(has_problem), "{name}: {lines:#?}");
    }
}
