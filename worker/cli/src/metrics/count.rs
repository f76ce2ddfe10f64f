//! Adds each measurement to its metrics, which `metrics.rs` declares.

use std::sync::atomic::Ordering;

use nightshift_engine::conclusion::Verdict;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Clock;

use nightshift_pipeline::case::Backlog;

use super::{
    BacklogMetrics, CaseMetrics, DAY_STATES, FlowMetrics, ModelMetrics, NO_LABELS, StepMetrics,
    VerdictMetrics,
};
use crate::clock::SystemClock;

impl FlowMetrics {
    pub(super) fn count(&self, measure: &Measurement) {
        match measure {
            Measurement::Message { source, outcome } => {
                self.messages.with_label_values(&[source, *outcome]).inc();
                // Refused messages and canaries do not show that the feed is alive. An unsettled message was counted by
                // its other outcome.
                if matches!(*outcome, "refused" | "busy" | "canary" | "unsettled") {
                    return;
                }
                let now = SystemClock.now().timestamp();
                self.last_alert.with_label_values(&[source]).set(now);
            }
            Measurement::Alert { feed, outcome } => {
                self.alerts.with_label_values(&[feed, *outcome]).inc();
            }
            Measurement::Delivery {
                destination,
                outcome,
            } => self
                .deliveries
                .with_label_values(&[destination, *outcome])
                .inc(),
            Measurement::SlackSignatureRefused => self.slack_refused.inc(),
            _ => {}
        }
    }
}

impl CaseMetrics {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of one case are far below 2^52"
    )]
    pub(super) fn count(&self, measure: &Measurement) {
        match measure {
            Measurement::Case {
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
            Measurement::Exhausted { cap } => {
                self.exhausted.with_label_values(&[cap.as_str()]).inc()
            }
            Measurement::DayBudget {
                spent,
                spent_below_high,
                cap,
                reserved,
            } => self.set_day_spend([*spent, *spent_below_high, *cap, *reserved]),
            Measurement::LeaseLost => self.lease_lost.inc(),
            Measurement::Resumed => self.resumed.inc(),
            Measurement::Recheck { result } => self.rechecks.with_label_values(&[*result]).inc(),
            _ => {}
        }
    }
}

impl CaseMetrics {
    /// Sets the gauges of the day budget, in the order of [`DAY_STATES`]. The sum spent is the same for all
    /// configurations. The limit is that of the followed one, while the last cases of an earlier one still report
    /// theirs.
    fn set_day_spend(&self, usd: [f64; 4]) {
        let followed = f64::from_bits(self.day_cap.load(Ordering::Relaxed));
        let [.., cap, _] = usd;
        let is_of_followed = followed.is_nan() || followed.total_cmp(&cap).is_eq();
        if followed.total_cmp(&0.0).is_eq() {
            return;
        }
        let told = DAY_STATES.into_iter().zip(usd);
        for (state, usd) in told.filter(|(state, _)| is_of_followed || state.starts_with("spent")) {
            self.day.with_label_values(&[state]).set(usd);
        }
    }
}

impl StepMetrics {
    pub(super) fn count(&self, measure: &Measurement) {
        match measure {
            Measurement::Step { status, outcome } => {
                let outcome = outcome.map_or("", |outcome| outcome.as_str());
                self.steps
                    .with_label_values(&[status.as_str(), outcome])
                    .inc();
            }
            Measurement::Reflection { result } => {
                self.reflections.with_label_values(&[*result]).inc()
            }
            Measurement::PlanUpdate { kind, refused } => {
                let result = if *refused { "refused" } else { "done" };
                self.plan_updates.with_label_values(&[*kind, result]).inc();
            }
            Measurement::ToolRefused { tool } => {
                self.tool_calls.with_label_values(&[tool, "refused"]).inc();
            }
            Measurement::ToolCall {
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

impl ModelMetrics {
    pub(super) fn count(&self, measure: &Measurement) {
        if let Measurement::ModelRequest {
            provider,
            model,
            question,
            outcome,
            took,
            tokens,
            usd,
        } = measure
        {
            let labels = [*provider, model, *question, *outcome];
            self.requests.with_label_values(&labels).inc();
            self.duration
                .with_label_values(&[*provider, model, *question])
                .observe(took.as_secs_f64());
            for (kind, number) in tokens.kinds() {
                self.tokens
                    .with_label_values(&[*provider, model, kind])
                    .inc_by(number);
            }
            // A counter accepts neither negative values nor NaN.
            self.cost
                .with_label_values(&[*provider, model])
                .inc_by(usd.max(0.0));
        }
    }
}

impl VerdictMetrics {
    pub(super) fn count(&self, measure: &Measurement) {
        match measure {
            Measurement::Claim { supported } => {
                let result = if *supported {
                    "supported"
                } else {
                    "unsupported"
                };
                self.claims.with_label_values(&[result]).inc();
            }
            Measurement::Overridden { rule } => self.overridden.with_label_values(&[rule]).inc(),
            Measurement::Manipulation => self.manipulation.inc(),
            Measurement::Feedback { agreed } => {
                let agreed = if *agreed { "true" } else { "false" };
                self.feedback.with_label_values(&[agreed]).inc();
            }
            _ => {}
        }
    }
}

impl BacklogMetrics {
    pub(super) fn set(&self, backlog: &Backlog) {
        for (lane, cases) in [("urgent", backlog.urgent), ("other", backlog.others)] {
            self.inbox.with_label_values(&[lane]).set(whole(cases));
        }
        self.inbox_oldest
            .with_label_values(NO_LABELS)
            .set(backlog.oldest_secs);
        self.inbox_urgent_oldest
            .with_label_values(NO_LABELS)
            .set(backlog.urgent_oldest_secs);
        self.running.set(whole(backlog.running));
        self.outbox
            .with_label_values(NO_LABELS)
            .set(whole(backlog.outbox));
        self.outbox_oldest
            .with_label_values(NO_LABELS)
            .set(backlog.outbox_oldest_secs);
        self.dead_letters
            .with_label_values(NO_LABELS)
            .set(whole(backlog.dead_letters));
    }

    pub(super) fn clear(&self) {
        self.inbox.reset();
        self.inbox_oldest.reset();
        self.inbox_urgent_oldest.reset();
        self.outbox.reset();
        self.outbox_oldest.reset();
        self.dead_letters.reset();
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
