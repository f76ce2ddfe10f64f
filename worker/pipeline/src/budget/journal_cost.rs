//! Computes the cost of a journal as it grows: answers that arrived, and reservations of questions that were lost.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use nightshift_engine::event::{CommandId, Event, EventBody};
use nightshift_engine::state::CaseState;

use super::{Charge, is_urgent};

/// Cost of the journal of one case at one epoch. The sum of the charges equals what the engine counts as spent.
#[derive(Debug, Default)]
pub(crate) struct JournalCost {
    urgent: bool,
    /// Reservations of questions that earlier epochs started and lost. They stay charged and are noted with the
    /// claim.
    lost_usd: f64,
    running: BTreeMap<CommandId, f64>,
}

impl JournalCost {
    /// Creates the cost record of a case that continues from this state, or begins with an alert of this severity.
    pub(crate) fn new(severity: nightshift_alert::Severity, before: &CaseState) -> Self {
        let lost = before.in_flight.values();
        Self {
            urgent: is_urgent(severity),
            lost_usd: lost.map(|running| running.reserved.usd).sum(),
            running: BTreeMap::new(),
        }
    }

    /// Returns the cost of these events, which follow the earlier ones.
    pub(crate) fn charge(&mut self, events: &[Event]) -> Charge {
        let mut usd = 0.0;
        for event in events {
            match &event.body {
                EventBody::Claimed { .. } => usd += std::mem::take(&mut self.lost_usd),
                EventBody::Started { id, reserved, .. } => {
                    self.running.insert(id.clone(), reserved.usd);
                }
                EventBody::Finished { id, cost, .. } => {
                    self.running.remove(id);
                    usd += cost.usd;
                }
                EventBody::Withdrawn { id, cost, .. } => {
                    if self.running.remove(id).is_some() {
                        usd += cost.usd;
                    }
                }
                // Running questions are dropped, and their actual cost will never be known.
                EventBody::TimeUp => {
                    usd += std::mem::take(&mut self.running).values().sum::<f64>();
                }
                // The store charges running questions when a case is cancelled.
                EventBody::Opened(_) | EventBody::Cancelled { .. } | EventBody::Concluded(_) => {}
            }
        }
        Charge {
            day: events
                .last()
                .map_or(NaiveDate::default(), |event| event.at.date_naive()),
            urgent: self.urgent,
            usd,
        }
    }
}
