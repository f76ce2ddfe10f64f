//! What a journal costs as it grows: answers when they are in, and what was charged for questions that were lost.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use nightshift_engine::{CommandId, Event, EventBody, State};

use super::{Charge, is_urgent};

/// The tab of one case at one epoch. The sum of its charges is what the engine counts as spent.
#[derive(Debug, Default)]
pub(crate) struct Tab {
    urgent: bool,
    /// What earlier epochs started and lost: it stays charged, and is noted with the claim.
    lost_usd: f64,
    running: BTreeMap<CommandId, f64>,
}

impl Tab {
    /// The tab of a case that goes on from this state, or begins with an alert of this severity.
    pub(crate) fn new(severity: nightshift_alert::Severity, before: &State) -> Self {
        let lost = before.in_flight.values();
        Self {
            urgent: is_urgent(severity),
            lost_usd: lost.map(|running| running.reserved.usd).sum(),
            running: BTreeMap::new(),
        }
    }

    /// What these events cost, which follow those before.
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
                // What ran then is dropped, and nobody will hear what it cost.
                EventBody::TimeUp => {
                    usd += std::mem::take(&mut self.running).values().sum::<f64>();
                }
                // Whoever calls a case off writes that, and the store charges what ran.
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
