//! Handles cases while the models are down: they wait, and those that waited long enough get a report of the
//! playbook.
//!
//! The engine releases running cases at their next turn without counting an attempt. When the circuit breaker allows
//! a request, a question without a case probes whether the models are back. Cases that were concluded without models
//! are then triaged again.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::{Event, EventBody};

use crate::budget::is_urgent;
use crate::case::OutageWait;
use crate::port::ClaimedCase;
use crate::triage::Triage;

/// The number of times that models that are up may fail to answer one case. A text that makes their server fail does so
/// each time, and opens the circuit for all cases.
const MOST_WITHDRAWN: usize = 2;

/// State of the models.
#[async_trait]
pub trait ModelHealth: Send + Sync {
    /// Returns whether no model can be asked.
    fn are_down(&self) -> bool;

    /// Returns whether one request may probe whether the models are back. This includes a single model that other
    /// models replace.
    fn may_probe(&self) -> bool;

    /// Sends the probe: a question without a case that costs a few tokens.
    async fn probe(&self);
}

/// Behaviour while the models are down.
#[derive(Clone)]
pub struct Outage {
    pub health: Arc<dyn ModelHealth>,
    /// Triages cases that have waited long enough, with analysts that do not wait for a model.
    pub overdue: Triage,
    pub waits: OutageWait,
}

impl Outage {
    /// Returns the triage for a case that its models leave unanswered although they are up.
    pub(super) fn fallback_triage(&self) -> Triage {
        let mut overdue = self.overdue.clone();
        overdue.models_are_up = true;
        overdue
    }

    /// Returns whether a case stops waiting for models that are up. Either they left it unanswered too often, or the
    /// first time was so long ago that it would have its report had they stayed down.
    pub(super) fn has_waited_enough(&self, case: &ClaimedCase, now: DateTime<Utc>) -> bool {
        is_wait_over(&self.waits, &case.events, case.alert.severity, now)
    }
}

fn is_wait_over(
    waits: &OutageWait,
    events: &[Event],
    severity: Severity,
    now: DateTime<Utc>,
) -> bool {
    let withdrawn = withdrawal_times(events);
    let wait = match is_urgent(severity) {
        true => waits.urgent,
        false => waits.others,
    };
    let has_waited = |first: &DateTime<Utc>| (now - first).to_std().is_ok_and(|it| it >= wait);
    withdrawn.len() >= MOST_WITHDRAWN || withdrawn.first().is_some_and(has_waited)
}

/// Returns the times at which this triage was released because no model answered, one per worker. A case that got no
/// turn at a busy model keeps waiting: `[limits] minutes` ends that.
fn withdrawal_times(events: &[Event]) -> Vec<DateTime<Utc>> {
    let (mut times, mut is_noted) = (Vec::new(), false);
    for event in events {
        match event.body {
            EventBody::Claimed { .. } => is_noted = false,
            EventBody::Withdrawn { in_line: false, .. } if !is_noted => {
                is_noted = true;
                times.push(event.at);
            }
            _ => {}
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nightshift_engine::event::CommandId;
    use nightshift_engine::limits::Cost;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn claimed_and_withdrawn(seconds: i64) -> [Event; 3] {
        let withdrawn = || EventBody::Withdrawn {
            id: CommandId::conclude(),
            cost: Cost::default(),
            in_line: false,
        };
        [
            Event::new(at(seconds), EventBody::Claimed { epoch: 1 }),
            Event::new(at(seconds + 1), withdrawn()),
            Event::new(at(seconds + 2), withdrawn()),
        ]
    }

    #[test]
    fn f21_a_case_waits_while_the_models_may_be_back_for_it() {
        let waits = OutageWait {
            urgent: Duration::from_secs(120),
            others: Duration::from_secs(900),
        };
        let once = claimed_and_withdrawn(0).to_vec();
        let twice = [once.clone(), claimed_and_withdrawn(30).to_vec()].concat();
        let mut in_line = [twice.clone(), twice.clone()].concat();
        for event in &mut in_line {
            if let EventBody::Withdrawn { in_line, .. } = &mut event.body {
                *in_line = true;
            }
        }
        for (events, severity, now, over) in [
            (Vec::new(), Severity::Critical, 9_999, false),
            (once.clone(), Severity::Critical, 120, false),
            (once.clone(), Severity::Critical, 121, true),
            (once.clone(), Severity::Medium, 121, false),
            (once, Severity::Medium, 901, true),
            (twice, Severity::Low, 33, true),
            (in_line, Severity::Critical, 9_999, false),
        ] {
            let found = is_wait_over(&waits, &events, severity, at(now));
            assert_eq!(found, over, "{severity:?} at {now}");
        }
    }
}
