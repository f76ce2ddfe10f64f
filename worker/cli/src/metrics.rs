//! Every metric, declared once: name, help, unit, labels. The lower floors count through the port `Meter`.
//!
//! Label values are closed sets: words of ours, or names from the configuration. Series that can be known before
//! anything happens start at 0.

use std::path::Path;

use nightshift_engine::{Clock, Measure, Meter, Verdict};
use nightshift_pipeline::Admission;
use prometheus::{
    Encoder, Error, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::clock::SystemClock;

/// Seconds from ten milliseconds to a quarter of an hour.
const CASE_SECONDS: &[f64] = &[
    0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
];
const TOOL_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];
const STEPS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0];
const CALLS: &[f64] = &[0.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0, 60.0];

/// Feeds that need no configuration, and our own, of unreadable messages.
const FEEDS: [&str; 5] = ["guardduty", "scc", "security_hub", "ocsf", "nightshift"];

/// The metrics of this process.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    flow: Flow,
    cases: Cases,
    work: Work,
    proof: Proof,
}

impl Metrics {
    /// All metrics, registered.
    pub(crate) fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let declare = Declare(&registry);
        Ok(Self {
            flow: Flow::new(&declare)?,
            cases: Cases::new(&declare)?,
            work: Work::new(&declare)?,
            proof: Proof::new(&declare)?,
            registry,
        })
    }

    /// The metrics in the Prometheus text format.
    pub(crate) fn text(&self) -> Result<String, Error> {
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
        self.flow.count(measure);
        self.cases.count(measure);
        self.work.count(measure);
        self.proof.count(measure);
    }
}

/// What comes in and goes out.
#[derive(Debug)]
struct Flow {
    messages: IntCounterVec,
    alerts: IntCounterVec,
    last_alert: IntGaugeVec,
    deliveries: IntCounterVec,
}

impl Flow {
    fn new(declare: &Declare<'_>) -> Result<Self, Error> {
        let flow = Self {
            messages: declare.counters(
                "nightshift_messages_total",
                "Messages taken from a source, by what became of them.",
                &["source", "outcome"],
            )?,
            alerts: declare.counters(
                "nightshift_alerts_total",
                "Alerts admitted, by feed and what became of them.",
                &["feed", "outcome"],
            )?,
            last_alert: declare.gauges(
                "nightshift_last_alert_timestamp_seconds",
                "When a source last handed over a message, in Unix seconds.",
                &["source"],
            )?,
            deliveries: declare.counters(
                "nightshift_deliveries_total",
                "Tries to show a report, by destination and outcome.",
                &["destination", "outcome"],
            )?,
        };
        for feed in FEEDS {
            for outcome in Admission::WORDS {
                flow.alerts.with_label_values(&[feed, outcome]);
            }
        }
        Ok(flow)
    }

    fn count(&self, measure: &Measure) {
        match measure {
            Measure::Message { source, outcome } => {
                self.messages.with_label_values(&[source, *outcome]).inc();
                let now = SystemClock.now().timestamp();
                self.last_alert.with_label_values(&[source]).set(now);
            }
            Measure::Alert { feed, outcome } => {
                self.alerts.with_label_values(&[feed, *outcome]).inc();
            }
            Measure::Delivery {
                destination,
                outcome,
            } => self
                .deliveries
                .with_label_values(&[destination, *outcome])
                .inc(),
            _ => {}
        }
    }
}

/// Cases as they end, and leases.
#[derive(Debug)]
struct Cases {
    ended: IntCounterVec,
    duration: Histogram,
    steps: Histogram,
    model_calls: Histogram,
    exhausted: IntCounterVec,
    day: GaugeVec,
    lease_lost: IntCounter,
    resumed: IntCounter,
    last_success: IntGauge,
}

impl Cases {
    fn new(declare: &Declare<'_>) -> Result<Self, Error> {
        let cases = Self {
            ended: declare.counters(
                "nightshift_cases_total",
                "Cases that ended, by feed, status, verdict, assessed severity and analyst.",
                &["feed", "status", "verdict", "severity", "analyst"],
            )?,
            duration: declare.histogram(
                "nightshift_case_duration_seconds",
                "Active time of a case in seconds.",
                CASE_SECONDS,
            )?,
            steps: declare.histogram("nightshift_case_steps", "Steps of a case's plan.", STEPS)?,
            model_calls: declare.histogram(
                "nightshift_case_model_calls",
                "Model calls of a case.",
                CALLS,
            )?,
            exhausted: declare.counters(
                "nightshift_budget_exhausted_total",
                "Cases whose work a cap ended.",
                &["cap"],
            )?,
            day: declare.amounts(
                "nightshift_budget_day_usd",
                "US dollars of the UTC day's budget: spent, the cap, and what of it is kept for high and critical.",
                &["state"],
            )?,
            lease_lost: declare.counter(
                "nightshift_lease_lost_total",
                "Writes refused because the lease on a case was lost.",
            )?,
            resumed: declare.counter(
                "nightshift_cases_resumed_total",
                "Cases that went on where an earlier worker had left them.",
            )?,
            last_success: declare.gauge(
                "nightshift_last_success_timestamp_seconds",
                "When a case was last concluded, in Unix seconds.",
            )?,
        };
        for cap in ["calls", "tokens", "usd", "minutes", "day_usd"] {
            cases.exhausted.with_label_values(&[cap]);
        }
        for state in ["spent", "cap", "reserved"] {
            cases.day.with_label_values(&[state]);
        }
        Ok(cases)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of one case are far below 2^52"
    )]
    fn count(&self, measure: &Measure) {
        match measure {
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
                let labels = [feed, *status, verdict, severity.as_str(), analyst.as_str()];
                self.ended.with_label_values(&labels).inc();
                self.duration.observe(took.as_secs_f64());
                self.steps.observe(*steps as f64);
                self.model_calls.observe(*model_calls as f64);
                if *status == "concluded" {
                    self.last_success.set(SystemClock.now().timestamp());
                }
            }
            Measure::Exhausted { cap } => self.exhausted.with_label_values(&[cap.as_str()]).inc(),
            Measure::DayBudget {
                spent,
                cap,
                reserved,
            } => {
                for (state, usd) in [("spent", spent), ("cap", cap), ("reserved", reserved)] {
                    self.day.with_label_values(&[state]).set(*usd);
                }
            }
            Measure::LeaseLost => self.lease_lost.inc(),
            Measure::Resumed => self.resumed.inc(),
            _ => {}
        }
    }
}

/// Steps, reflections and tools.
#[derive(Debug)]
struct Work {
    steps: IntCounterVec,
    reflections: IntCounterVec,
    plan_updates: IntCounterVec,
    tool_calls: IntCounterVec,
    tool_duration: HistogramVec,
}

impl Work {
    fn new(declare: &Declare<'_>) -> Result<Self, Error> {
        let work = Self {
            steps: declare.counters(
                "nightshift_steps_total",
                "Steps that ended, by status and outcome.",
                &["status", "outcome"],
            )?,
            reflections: declare.counters(
                "nightshift_reflections_total",
                "Reflections, by result.",
                &["result"],
            )?,
            plan_updates: declare.counters(
                "nightshift_plan_updates_total",
                "Plan updates that reflections asked for, done or refused.",
                &["type", "result"],
            )?,
            tool_calls: declare.counters(
                "nightshift_tool_calls_total",
                "Tool calls, by tool and outcome.",
                &["tool", "outcome"],
            )?,
            tool_duration: declare.histograms(
                "nightshift_tool_duration_seconds",
                "Time of a tool call in seconds.",
                TOOL_SECONDS,
                &["tool"],
            )?,
        };
        for status in [
            ["done", "met"],
            ["done", "unmet"],
            ["failed", "failed"],
            ["cancelled", ""],
            ["not_run", ""],
        ] {
            work.steps.with_label_values(&status);
        }
        for result in ["achieved", "changed", "unchanged", "failed"] {
            work.reflections.with_label_values(&[result]);
        }
        for kind in ["add_step", "update_step", "cancel_step"] {
            for result in ["done", "refused"] {
                work.plan_updates.with_label_values(&[kind, result]);
            }
        }
        Ok(work)
    }

    fn count(&self, measure: &Measure) {
        match measure {
            Measure::Step { status, outcome } => {
                let outcome = outcome.map_or("", |outcome| outcome.as_str());
                self.steps
                    .with_label_values(&[status.as_str(), outcome])
                    .inc();
            }
            Measure::Reflection { result } => self.reflections.with_label_values(&[*result]).inc(),
            Measure::PlanUpdate { kind, refused } => {
                let result = if *refused { "refused" } else { "done" };
                self.plan_updates.with_label_values(&[*kind, result]).inc();
            }
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
            _ => {}
        }
    }
}

/// Claims, overrides, manipulation, and what people say of it all.
#[derive(Debug)]
struct Proof {
    claims: IntCounterVec,
    overridden: IntCounterVec,
    manipulation: IntCounter,
    feedback: IntCounterVec,
}

impl Proof {
    fn new(declare: &Declare<'_>) -> Result<Self, Error> {
        let proof = Self {
            claims: declare.counters(
                "nightshift_evidence_claims_total",
                "Claims checked against their evidence.",
                &["result"],
            )?,
            overridden: declare.counters(
                "nightshift_verdicts_overridden_total",
                "Verdicts and severities that a rule overrode.",
                &["rule"],
            )?,
            manipulation: declare.counter(
                "nightshift_manipulation_suspected_total",
                "Cases whose data talks to the analyst.",
            )?,
            feedback: declare.counters(
                "nightshift_feedback_total",
                "Verdicts of people over cases, by whether they agree.",
                &["agreed"],
            )?,
        };
        for result in ["supported", "unsupported"] {
            proof.claims.with_label_values(&[result]);
        }
        for agreed in ["true", "false"] {
            proof.feedback.with_label_values(&[agreed]);
        }
        for rule in nightshift_engine::OVERRIDES {
            proof.overridden.with_label_values(&[*rule]);
        }
        Ok(proof)
    }

    fn count(&self, measure: &Measure) {
        match measure {
            Measure::Claim { supported } => {
                let result = if *supported {
                    "supported"
                } else {
                    "unsupported"
                };
                self.claims.with_label_values(&[result]).inc();
            }
            Measure::Overridden { rule } => self.overridden.with_label_values(&[rule]).inc(),
            Measure::Manipulation => self.manipulation.inc(),
            Measure::Feedback { agreed } => {
                let agreed = if *agreed { "true" } else { "false" };
                self.feedback.with_label_values(&[agreed]).inc();
            }
            _ => {}
        }
    }
}

/// Makes metrics and registers them.
struct Declare<'a>(&'a Registry);

impl Declare<'_> {
    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, Error> {
        self.put(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    fn counter(&self, name: &str, help: &str) -> Result<IntCounter, Error> {
        self.put(IntCounter::new(name, help)?)
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, Error> {
        self.put(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Gauges of amounts that are no whole numbers.
    fn amounts(&self, name: &str, help: &str, labels: &[&str]) -> Result<GaugeVec, Error> {
        self.put(GaugeVec::new(Opts::new(name, help), labels)?)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, Error> {
        self.put(IntGauge::new(name, help)?)
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Result<Histogram, Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.put(Histogram::with_opts(options)?)
    }

    fn histograms(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
        labels: &[&str],
    ) -> Result<HistogramVec, Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.put(HistogramVec::new(options, labels)?)
    }

    fn put<M: prometheus::core::Collector + Clone + 'static>(&self, metric: M) -> Result<M, Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}
