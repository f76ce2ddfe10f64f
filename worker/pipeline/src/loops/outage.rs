//! What cases do while the models are down: they wait, and those that waited long enough get the playbook's report.
//!
//! Running cases were released at their turn without an attempt (the engine does that). When the circuit lets a request
//! through, a question about nothing tries whether the models are back; then what was concluded without them is triaged
//! again.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::{Event, EventBody};

use crate::{Claimed, Triage, Waited, is_urgent};

/// So often models may leave one case without an answer while they are up. A text that makes their server fail does so
/// each time, and opens their circuit for all.
const MOST_WITHDRAWN: usize = 2;

/// Whether the models can be asked.
#[async_trait]
pub trait ModelHealth: Send + Sync {
    /// Whether none of them can be.
    fn are_down(&self) -> bool;

    /// Whether one request may try whether they, or one of them that others stand in for, are back.
    fn may_probe(&self) -> bool;

    /// Tries it, with a question that no case is about and that costs a few tokens.
    async fn probe(&self);
}

/// What is done while the models are down.
#[derive(Clone)]
pub struct Outage {
    /// Whether they are.
    pub health: Arc<dyn ModelHealth>,
    /// Triages what has waited long enough: with analysts that do not wait for a model.
    pub overdue: Triage,
    /// How long cases wait.
    pub waits: Waited,
}

impl Outage {
    /// Who takes a case that its models leave without an answer though they are up.
    pub(super) fn despite(&self) -> Triage {
        let mut overdue = self.overdue.clone();
        overdue.models_are_up = true;
        overdue
    }

    /// Whether a case waits for its models no longer though they are up: they left it without an answer too often, or so
    /// long ago that it would have its report if they had stayed away.
    pub(super) fn is_over_for(&self, case: &Claimed, now: DateTime<Utc>) -> bool {
        is_over(&self.waits, &case.events, case.alert.severity, now)
    }
}

fn is_over(waits: &Waited, events: &[Event], severity: Severity, now: DateTime<Utc>) -> bool {
    let withdrawn = withdrawn(events);
    let wait = match is_urgent(severity) {
        true => waits.urgent,
        false => waits.others,
    };
    let has_waited = |first: &DateTime<Utc>| (now - first).to_std().is_ok_and(|it| it >= wait);
    withdrawn.len() >= MOST_WITHDRAWN || withdrawn.first().is_some_and(has_waited)
}

/// When this triage was given back because no model answered, once for each worker that had it. Where it had no turn at a
/// model that answers others, it waits on: `[limits] minutes` ends that.
fn withdrawn(events: &[Event]) -> Vec<DateTime<Utc>> {
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

    use nightshift_engine::{CommandId, Cost};

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
        let waits = Waited {
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
            let found = is_over(&waits, &events, severity, at(now));
            assert_eq!(found, over, "{severity:?} at {now}");
        }
    }
}
