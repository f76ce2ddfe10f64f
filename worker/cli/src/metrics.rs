//! Every metric, declared once: name, help, unit, labels. The lower floors count through the port `Meter`.
//!
//! Label values are closed sets: words of ours, or names from the configuration. Series that can be known before
//! anything happens start at 0.

use std::path::Path;
use std::time::Duration;

use nightshift_engine::{Clock, Measure, Meter, Verdict};
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::clock::SystemClock;

/// Seconds from a millisecond to a quarter of an hour.
const CASE_SECONDS: &[f64] = &[
    0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
];
const TOOL_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];
const STEPS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0];
const CALLS: &[f64] = &[0.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0, 60.0];

/// The metrics of this process.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    messages: IntCounterVec,
    alerts: IntCounterVec,
    last_alert: IntGaugeVec,
    cases: IntCounterVec,
    case_duration: Histogram,
    case_steps: Histogram,
    case_model_calls: Histogram,
    steps: IntCounterVec,
    reflections: IntCounterVec,
    plan_updates: IntCounterVec,
    tool_calls: IntCounterVec,
    tool_duration: HistogramVec,
    claims: IntCounterVec,
    overridden: IntCounterVec,
    manipulation: IntCounter,
    exhausted: IntCounterVec,
    deliveries: IntCounterVec,
    lease_lost: IntCounter,
    resumed: IntCounter,
    last_success: IntGauge,
}

impl Metrics {
    /// All metrics, registered.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let metrics = Self::declare(&registry)?;
        metrics.start_at_zero();
        Ok(metrics)
    }

    fn declare(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counters = |name, help, labels: &[&str]| counters(registry, name, help, labels);
        let histogram = |name, help, buckets| histogram(registry, name, help, buckets);
        Ok(Self {
            messages: counters(
                "nightshift_messages_total",
                "Messages taken from a source, by what became of them.",
                &["source", "outcome"],
            )?,
            alerts: counters(
                "nightshift_alerts_total",
                "Alerts admitted, by feed and what became of them.",
                &["feed", "outcome"],
            )?,
            last_alert: last_alert(registry)?,
            cases: counters(
                "nightshift_cases_total",
                "Cases that ended, by status, verdict and assessed severity.",
                &["feed", "status", "verdict", "severity", "analyst"],
            )?,
            case_duration: histogram(
                "nightshift_case_duration_seconds",
                "Active time of a case in seconds.",
                CASE_SECONDS,
            )?,
            case_steps: histogram("nightshift_case_steps", "Steps of a case's plan.", STEPS)?,
            case_model_calls: histogram(
                "nightshift_case_model_calls",
                "Model calls of a case.",
                CALLS,
            )?,
            steps: counters(
                "nightshift_steps_total",
                "Steps that ended, by status and outcome.",
                &["status", "outcome"],
            )?,
            reflections: counters(
                "nightshift_reflections_total",
                "Reflections, by result.",
                &["result"],
            )?,
            plan_updates: counters(
                "nightshift_plan_updates_total",
                "Plan updates that reflections asked for, done or refused.",
                &["type", "result"],
            )?,
            tool_calls: counters(
                "nightshift_tool_calls_total",
                "Tool calls, by tool and outcome.",
                &["tool", "outcome"],
            )?,
            tool_duration: tool_duration(registry)?,
            claims: counters(
                "nightshift_evidence_claims_total",
                "Claims checked against their evidence.",
                &["result"],
            )?,
            overridden: counters(
                "nightshift_verdicts_overridden_total",
                "Verdicts and severities that a rule overrode.",
                &["rule"],
            )?,
            manipulation: counter(
                registry,
                "nightshift_manipulation_suspected_total",
                "Cases whose data talks to the analyst.",
            )?,
            exhausted: counters(
                "nightshift_budget_exhausted_total",
                "Cases whose work a cap ended.",
                &["cap"],
            )?,
            deliveries: counters(
                "nightshift_deliveries_total",
                "Tries to show a report, by destination and outcome.",
                &["destination", "outcome"],
            )?,
            lease_lost: counter(
                registry,
                "nightshift_lease_lost_total",
                "Writes refused because the lease on a case was lost.",
            )?,
            resumed: counter(
                registry,
                "nightshift_cases_resumed_total",
                "Cases that went on where an earlier worker had left them.",
            )?,
            last_success: last_success(registry)?,
            registry: registry.clone(),
        })
    }

    fn start_at_zero(&self) {
        for (status, outcome) in [
            ("done", "met"),
            ("done", "unmet"),
            ("failed", "failed"),
            ("cancelled", ""),
            ("not_run", ""),
        ] {
            self.steps.with_label_values(&[status, outcome]);
        }
        for result in ["achieved", "changed", "unchanged", "failed"] {
            self.reflections.with_label_values(&[result]);
        }
        for kind in ["add_step", "update_step", "cancel_step"] {
            for result in ["done", "refused"] {
                self.plan_updates.with_label_values(&[kind, result]);
            }
        }
        for result in ["supported", "unsupported"] {
            self.claims.with_label_values(&[result]);
        }
        for rule in [
            "not_exonerated",
            "severity_floor",
            "unsupported_evidence",
            "suspected_manipulation",
            "key_step_failed",
            "cut_short",
        ] {
            self.overridden.with_label_values(&[rule]);
        }
        for cap in ["calls", "tokens", "usd", "minutes"] {
            self.exhausted.with_label_values(&[cap]);
        }
    }

    /// The metrics in the Prometheus text format.
    pub(crate) fn text(&self) -> Result<String, prometheus::Error> {
        let mut bytes = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes the metrics to a file, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        use anyhow::Context;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or_else(|| Path::new("."));
        let write = || -> anyhow::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut file, self.text()?.as_bytes())?;
            file.persist(path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write [metrics] textfile {}", path.display()))
    }
}

impl Meter for Metrics {
    fn count(&self, measure: &Measure) {
        let now = SystemClock.now().timestamp();
        match measure {
            Measure::Step { status, outcome } => self
                .steps
                .with_label_values(&[
                    status.as_str(),
                    outcome.map_or("", |outcome| outcome.as_str()),
                ])
                .inc(),
            Measure::Reflection { result } => self.reflections.with_label_values(&[result]).inc(),
            Measure::PlanUpdate { kind, refused } => self
                .plan_updates
                .with_label_values(&[*kind, if *refused { "refused" } else { "done" }])
                .inc(),
            Measure::ToolCall {
                tool,
                outcome,
                took,
            } => {
                self.tool_calls.with_label_values(&[tool, *outcome]).inc();
                self.tool_duration
                    .with_label_values(&[tool])
                    .observe(took.as_secs_f64());
            }
            Measure::Claim { supported } => self
                .claims
                .with_label_values(&[if *supported {
                    "supported"
                } else {
                    "unsupported"
                }])
                .inc(),
            Measure::Overridden { rule } => self.overridden.with_label_values(&[rule]).inc(),
            Measure::Manipulation => self.manipulation.inc(),
            Measure::Exhausted { cap } => self.exhausted.with_label_values(&[cap.as_str()]).inc(),
            Measure::Case {
                feed,
                status,
                verdict,
                severity,
                analyst,
                took,
                steps,
                model_calls,
            } => {
                let verdict = verdict.map_or("", Verdict::as_str);
                self.cases
                    .with_label_values(&[
                        feed,
                        *status,
                        verdict,
                        severity.as_str(),
                        analyst.as_str(),
                    ])
                    .inc();
                self.observe_case(*took, *steps, *model_calls);
                if *status == "concluded" {
                    self.last_success.set(now);
                }
            }
            Measure::Resumed => self.resumed.inc(),
            Measure::LeaseLost => self.lease_lost.inc(),
            Measure::Message { source, outcome } => {
                self.messages.with_label_values(&[source, *outcome]).inc();
                self.last_alert.with_label_values(&[source]).set(now);
            }
            Measure::Alert { feed, outcome } => {
                self.alerts.with_label_values(&[feed, *outcome]).inc()
            }
            Measure::Delivery {
                destination,
                outcome,
            } => self
                .deliveries
                .with_label_values(&[destination, *outcome])
                .inc(),
        }
    }
}

impl Metrics {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of one case are far below 2^52"
    )]
    fn observe_case(&self, took: Duration, steps: usize, model_calls: u64) {
        self.case_duration.observe(took.as_secs_f64());
        self.case_steps.observe(steps as f64);
        self.case_model_calls.observe(model_calls as f64);
    }
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    let metric = IntCounter::new(name, help)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
) -> Result<Histogram, prometheus::Error> {
    let metric = Histogram::with_opts(HistogramOpts::new(name, help).buckets(buckets.to_vec()))?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn tool_duration(registry: &Registry) -> Result<HistogramVec, prometheus::Error> {
    let options = HistogramOpts::new(
        "nightshift_tool_duration_seconds",
        "Time of a tool call in seconds.",
    );
    let metric = HistogramVec::new(options.buckets(TOOL_SECONDS.to_vec()), &["tool"])?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn last_alert(registry: &Registry) -> Result<IntGaugeVec, prometheus::Error> {
    let options = Opts::new(
        "nightshift_last_alert_timestamp_seconds",
        "When a source last handed over a message, in Unix seconds.",
    );
    let metric = IntGaugeVec::new(options, &["source"])?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn last_success(registry: &Registry) -> Result<IntGauge, prometheus::Error> {
    let metric = IntGauge::new(
        "nightshift_last_success_timestamp_seconds",
        "When a case was last concluded, in Unix seconds.",
    )?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}
