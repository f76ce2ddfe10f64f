//! Declares every metric with its name, help, unit and labels. Other crates count through the port `Meter`.
//!
//! Label values are closed sets: fixed words or names of the configuration. Series that are known in advance start at
//! 0.

mod count;
mod factory;
mod gauges;
mod initial_series;
mod stale_series;

use std::path::Path;
use std::sync::atomic::AtomicU64;

use nightshift_alert::CANARY_FEED;
use nightshift_alert::feed::BUILT_IN;
use nightshift_engine::measurement::{Measurement, ModelTokens};
use nightshift_engine::port::Meter;
use nightshift_llm::OUTCOMES;
use nightshift_llm::chat::QuestionKind;
use nightshift_pipeline::case::Backlog;
use nightshift_pipeline::recheck::RECHECK_RESULTS;
use parking_lot::Mutex;
use prometheus::{
    CounterVec, Encoder, Error, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Registry, TextEncoder,
};

use factory::MetricFactory;
pub(crate) use stale_series::ConfiguredNames;

/// Seconds from ten milliseconds to a quarter of an hour.
const CASE_SECONDS: &[f64] = &[
    0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
];
const TOOL_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];
const LLM_SECONDS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0];
const STEPS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0];
/// The states of the day budget that are shown.
const DAY_STATES: [&str; 4] = ["spent", "spent_below_high", "cap", "reserved"];
const CALLS: &[f64] = &[0.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0, 60.0];

/// Returns the built-in feeds, and Nightshift's own for unreadable messages and canaries.
fn feeds<'a>() -> impl Iterator<Item = &'a str> {
    let built_in: &[&'a str] = &BUILT_IN;
    let own = ["nightshift", CANARY_FEED];
    built_in.iter().copied().chain(own)
}

/// The metrics of this process.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    flow: FlowMetrics,
    cases: CaseMetrics,
    steps: StepMetrics,
    models: ModelMetrics,
    verdicts: VerdictMetrics,
    backlog: BacklogMetrics,
    reload_refused: IntGauge,
    /// The names of the followed configuration, once it replaced an earlier one.
    configured: Mutex<Option<ConfiguredNames>>,
}

impl Metrics {
    /// Creates and registers all metrics.
    pub(crate) fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let declare = MetricFactory(&registry);
        let metrics = Self {
            flow: FlowMetrics::new(&declare)?,
            cases: CaseMetrics::new(&declare)?,
            steps: StepMetrics::new(&declare)?,
            models: ModelMetrics::new(&declare)?,
            verdicts: VerdictMetrics::new(&declare)?,
            backlog: BacklogMetrics::new(&declare)?,
            reload_refused: declare.gauge(
                "nightshift_configuration_refused",
                "1 while the configuration has changed and cannot be taken up: the earlier one counts.",
            )?,
            registry,
            configured: Mutex::default(),
        };
        for feed in feeds() {
            metrics.init_feed(feed);
        }
        Ok(metrics)
    }

    /// Returns the metrics in the Prometheus text format.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let mut bytes = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes the metrics to a file atomically.
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
    fn count(&self, measure: &Measurement) {
        self.flow.count(measure);
        self.cases.count(measure);
        self.steps.count(measure);
        self.models.count(measure);
        self.verdicts.count(measure);
    }
}

/// Metrics of intake and delivery.
#[derive(Debug)]
struct FlowMetrics {
    messages: IntCounterVec,
    alerts: IntCounterVec,
    last_alert: IntGaugeVec,
    source_up: IntGaugeVec,
    deliveries: IntCounterVec,
    slack_refused: IntCounter,
}

impl FlowMetrics {
    fn new(declare: &MetricFactory<'_>) -> Result<Self, Error> {
        Ok(Self {
            messages: declare.counters(
                "nightshift_messages_total",
                "Messages taken from a source, by what became of them; once more as unsettled where it could not be told so, and hands them over again.",
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
            source_up: declare.gauges(
                "nightshift_source_up",
                "1 where a source could be read when it was asked last, 0 where not; not of what is posted.",
                &["source"],
            )?,
            deliveries: declare.counters(
                "nightshift_deliveries_total",
                "Tries to show a report, by destination and outcome, without canaries.",
                &["destination", "outcome"],
            )?,
            slack_refused: declare.counter(
                "nightshift_slack_refused_total",
                "Requests to /slack/interactions that were refused, because their signature is missing, old or wrong.",
            )?,
        })
    }
}

/// Metrics of ended cases and of leases.
#[derive(Debug)]
struct CaseMetrics {
    ended: IntCounterVec,
    duration: Histogram,
    steps: Histogram,
    model_calls: Histogram,
    exhausted: IntCounterVec,
    day: GaugeVec,
    /// The bits of the followed day budget, 0 without one. Before a configuration is followed, the value is not a
    /// number.
    day_cap: AtomicU64,
    lease_lost: IntCounter,
    resumed: IntCounter,
    rechecks: IntCounterVec,
    last_success: IntGauge,
}

impl CaseMetrics {
    fn new(declare: &MetricFactory<'_>) -> Result<Self, Error> {
        let cases = Self {
            ended: declare.counters(
                "nightshift_cases_total",
                "Cases that ended while a worker ran them, by feed, status, verdict, assessed severity and analyst.",
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
            day: declare.float_gauge_vec(
                "nightshift_budget_day_usd",
                "US dollars of the UTC day's budget: spent, spent_below_high (of those below high), the cap, and what of it is reserved for high and critical.",
                &["state"],
            )?,
            day_cap: AtomicU64::new(f64::NAN.to_bits()),
            lease_lost: declare.counter(
                "nightshift_lease_lost_total",
                "Writes refused because the lease on a case was lost.",
            )?,
            resumed: declare.counter(
                "nightshift_cases_resumed_total",
                "Cases that went on where they had been left: given back, or of a worker that died.",
            )?,
            rechecks: declare.counters(
                "nightshift_rechecks_total",
                "Benign cases evaluated again by code: covered, revised (triaged again), or not_whole, where a look-up was not.",
                &["result"],
            )?,
            last_success: declare.gauge(
                "nightshift_last_success_timestamp_seconds",
                "When a case was last concluded, in Unix seconds.",
            )?,
        };
        for cap in ["calls", "tokens", "usd", "minutes", "day_usd"] {
            cases.exhausted.with_label_values(&[cap]);
        }
        for result in RECHECK_RESULTS {
            cases.rechecks.with_label_values(&[result]);
        }
        for state in DAY_STATES {
            cases.day.with_label_values(&[state]);
        }
        Ok(cases)
    }
}

/// Metrics of steps, reflections and tools.
#[derive(Debug)]
struct StepMetrics {
    steps: IntCounterVec,
    reflections: IntCounterVec,
    plan_updates: IntCounterVec,
    tool_calls: IntCounterVec,
    tool_duration: HistogramVec,
}

impl StepMetrics {
    fn new(declare: &MetricFactory<'_>) -> Result<Self, Error> {
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
                "Calls of a tool by outcome; those that were refused before they reached it are counted when their case ends.",
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
}

/// Metrics of requests to language models.
#[derive(Debug)]
struct ModelMetrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    tokens: IntCounterVec,
    cost: CounterVec,
    circuit: IntGaugeVec,
}

impl ModelMetrics {
    fn new(declare: &MetricFactory<'_>) -> Result<Self, Error> {
        Ok(Self {
            requests: declare.counters(
                "nightshift_llm_requests_total",
                "Requests that reached a model, retries too, by question and outcome.",
                &["provider", "model", "question", "outcome"],
            )?,
            duration: declare.histograms(
                "nightshift_llm_request_duration_seconds",
                "Time of a request to a model in seconds, without waiting for a turn.",
                LLM_SECONDS,
                &["provider", "model", "question"],
            )?,
            tokens: declare.counters(
                "nightshift_llm_tokens_total",
                "Tokens used, by kind; the kinds do not overlap.",
                &["provider", "model", "kind"],
            )?,
            cost: declare.float_counter_vec(
                "nightshift_llm_cost_usd_total",
                "Cost of requests to models in US dollars; 0 where no price is configured.",
                &["provider", "model"],
            )?,
            circuit: declare.gauges(
                "nightshift_llm_circuit_open",
                "Whether a model is down and only probed.",
                &["provider", "model"],
            )?,
        })
    }

    /// Creates all series of a model.
    fn init_series(&self, provider: &str, model: &str) {
        for question in QuestionKind::ALL.map(QuestionKind::as_str) {
            for outcome in OUTCOMES {
                self.requests
                    .with_label_values(&[provider, model, question, outcome]);
            }
            self.duration
                .with_label_values(&[provider, model, question]);
        }
        for (kind, _) in ModelTokens::default().kinds() {
            self.tokens.with_label_values(&[provider, model, kind]);
        }
        self.cost.with_label_values(&[provider, model]);
        self.circuit.with_label_values(&[provider, model]);
    }
}

const NO_LABELS: &[&str] = &[];

/// Metrics of the backlog in the store, which are the same in every process. Vectors without labels are used because
/// their series can be removed.
#[derive(Debug)]
struct BacklogMetrics {
    inbox: IntGaugeVec,
    inbox_oldest: GaugeVec,
    inbox_urgent_oldest: GaugeVec,
    /// This keeps its last value when the others are removed. It shows that a worker exists.
    running: IntGauge,
    outbox: IntGaugeVec,
    outbox_oldest: GaugeVec,
    dead_letters: IntGaugeVec,
    canary: IntGaugeVec,
    /// This process alone knows its own writes, so the value is never removed.
    store_full: IntGauge,
}

impl BacklogMetrics {
    fn new(declare: &MetricFactory<'_>) -> Result<Self, Error> {
        let waits = Self {
            inbox: declare.gauges(
                "nightshift_inbox_depth",
                "Cases that wait for a worker: urgent (high and critical) and others.",
                &["lane"],
            )?,
            inbox_oldest: declare.float_gauge_vec(
                "nightshift_inbox_oldest_seconds",
                "How long the oldest of them has waited.",
                &[],
            )?,
            inbox_urgent_oldest: declare.float_gauge_vec(
                "nightshift_inbox_urgent_oldest_seconds",
                "How long the oldest of the urgent ones has waited.",
                &[],
            )?,
            running: declare.gauge("nightshift_cases_running", "Cases that are triaged now.")?,
            outbox: declare.gauges(
                "nightshift_outbox_depth",
                "Reports that a destination should show and does not yet.",
                NO_LABELS,
            )?,
            outbox_oldest: declare.float_gauge_vec(
                "nightshift_outbox_oldest_seconds",
                "How long the oldest of them has been wished.",
                &[],
            )?,
            dead_letters: declare.gauges(
                "nightshift_dead_letters",
                "Messages that could not be read and were not retried.",
                NO_LABELS,
            )?,
            store_full: declare.gauge(
                "nightshift_store_disk_full",
                "1 while writes of this process fail because the disk of the database is full.",
            )?,
            canary: declare.gauges(
                "nightshift_canary_timestamp_seconds",
                "When a canary was last seen at its destination, in Unix seconds; 0 where none was yet.",
                NO_LABELS,
            )?,
        };
        waits.set(&Backlog::default());
        Ok(waits)
    }
}

/// Metrics of claims, overrides, manipulation and people's opinions.
#[derive(Debug)]
struct VerdictMetrics {
    claims: IntCounterVec,
    overridden: IntCounterVec,
    manipulation: IntCounter,
    feedback: IntCounterVec,
}

impl VerdictMetrics {
    fn new(declare: &MetricFactory<'_>) -> Result<Self, Error> {
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
        for rule in nightshift_engine::conclude::OVERRIDES {
            proof.overridden.with_label_values(&[*rule]);
        }
        Ok(proof)
    }
}

#[cfg(test)]
mod tests;
