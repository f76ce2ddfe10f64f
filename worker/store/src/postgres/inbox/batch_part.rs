//! Decides about the arrivals that one look-up covers. An arrival that depends on the change by an earlier one waits
//! for the next part, except for the usual cases: the first of a key and a sighting change nothing that is unknown.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_pipeline::admission::{
    Admission, AdmissionPolicy, Mute, SightingReason, SightingTimes, admit, alert_to_triage,
};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::AcceptedAlert;
use tokio_postgres::Row;

use super::admission_lookup::{self, PostgresAdmissionData};
use super::write::{BatchWrites, CaseChange, LedgerRow, PostgresNextAlert};
use crate::blobs::BlobKeys;
use crate::postgres::failure::PostgresFailure;

/// The maximum number of changes in a part that are sent one by one.
const MOST_TURNS: usize = 8;

/// The places of the messages of a batch.
#[derive(Clone, Default)]
pub(super) struct BatchMessages {
    /// The blobs that no row refers to yet.
    placed: BlobKeys,
    /// The message that was stored last, and its id. More of its alerts may follow in the next part or transaction.
    last: Option<(Arc<[u8]>, i64)>,
}

impl BatchMessages {
    /// Creates the places before any message is stored in a row.
    pub(super) const fn new(placed: BlobKeys) -> Self {
        Self { placed, last: None }
    }
}

/// Ids of messages and dead letters, reserved in advance.
pub(super) struct ReservedIds {
    raw: VecDeque<i64>,
    letters: VecDeque<i64>,
    pub(super) messages: BatchMessages,
}

impl ReservedIds {
    /// Parses the reserved ids.
    pub(super) fn from_rows(
        raw: &[Row],
        letters: &[Row],
        messages: BatchMessages,
    ) -> Result<Self, PostgresFailure> {
        let ids = |rows: &[Row]| {
            rows.iter()
                .map(|row| row.try_get(0))
                .collect::<Result<_, _>>()
        };
        Ok(Self {
            raw: ids(raw)?,
            letters: ids(letters)?,
            messages,
        })
    }
}

/// The decisions of a part and the rows to write.
pub(super) struct BatchPart<'a> {
    pub(super) accepted: Vec<AcceptedAlert>,
    pub(super) writes: BatchWrites<'a>,
    /// Keys that must be read again before the next decision about them.
    stale: BTreeSet<String>,
}

impl<'a> BatchPart<'a> {
    /// Decides about arrivals in order, up to the first that must wait.
    pub(super) fn decide(
        arrivals: &'a [Arrival],
        facts: &mut PostgresAdmissionData,
        mutes: &[Mute],
        policy: &AdmissionPolicy,
        ids: &mut ReservedIds,
    ) -> Result<Self, PostgresFailure> {
        let mut wave = Self {
            accepted: Vec::with_capacity(arrivals.len()),
            writes: BatchWrites::default(),
            stale: BTreeSet::new(),
        };
        for arrival in arrivals {
            let key = admission_lookup::key(arrival);
            if wave.stale.contains(&key) || wave.writes.turns.len() >= MOST_TURNS {
                break;
            }
            let ground = facts.admission_context(arrival, &key, mutes, policy);
            let admission = admit(arrival, &ground, policy);
            let triaged = alert_to_triage(arrival, &admission, ground.known);
            let alert = triaged.as_ref().unwrap_or(&arrival.alert);
            let raw_id = wave.raw(arrival, ids);
            let times = SightingTimes::new(arrival, &admission, ground.known);
            let coming = (arrival, alert, times);
            let case_id = wave.note(coming, &key, raw_id, &admission, facts)?;
            let dead_letter = arrival.unreadable.as_ref().map(|why| {
                let id = ids.letters.pop_front().unwrap_or_default();
                wave.writes
                    .dead_letter(id, arrival, why, raw_id, case_id.as_ref());
                id
            });
            let place = LedgerRow {
                raw_id,
                key: key.clone(),
                dead_letter,
                case_id: case_id.clone(),
            };
            wave.writes.arrival(arrival, place, &admission)?;
            wave.accepted.push(AcceptedAlert {
                case_id,
                key,
                title: arrival.alert.title.clone(),
                feed: arrival.alert.feed.clone(),
                admission,
                dead_letter,
            });
        }
        Ok(wave)
    }

    /// Returns the id of the message. Alerts of one message share it.
    fn raw(&mut self, arrival: &'a Arrival, ids: &mut ReservedIds) -> i64 {
        match &ids.messages.last {
            Some((bytes, id)) if Arc::ptr_eq(bytes, &arrival.raw) => *id,
            _ => {
                let id = ids.raw.pop_front().unwrap_or_default();
                let blob = ids.messages.placed.take(&arrival.raw);
                self.writes.raw_message(id, arrival, blob);
                ids.messages.last = Some((Arc::clone(&arrival.raw), id));
                id
            }
        }
    }

    /// Adds the rows of a decision. Returns the case of the alert, if there is one.
    fn note(
        &mut self,
        (arrival, alert, times): (&'a Arrival, &Alert, SightingTimes),
        key: &str,
        raw_id: i64,
        admission: &Admission,
        facts: &mut PostgresAdmissionData,
    ) -> Result<Option<CaseId>, PostgresFailure> {
        let coming = |why| PostgresNextAlert {
            arrival,
            alert,
            raw_id,
            why,
        };
        match admission {
            Admission::New => {
                let id = CaseId::from_random(uuid::Uuid::new_v4().as_u64_pair().1);
                self.writes.case(&id, arrival, key, raw_id)?;
                facts.opened(arrival, key.to_owned(), &id);
                return Ok(Some(id));
            }
            Admission::Revision(id, change) => {
                let turn = CaseChange::retriage(id, coming(change.as_str()))?;
                self.turn(key, turn);
            }
            Admission::Replaced(id, change) => {
                let turn = CaseChange::replace(id, coming(change.as_str()))?;
                self.turn(key, turn);
            }
            Admission::Sighting(id, seen) => {
                let said = (Some(seen.to_string()), times);
                self.writes.sighting(id, arrival, raw_id, said);
                if let SightingReason::AtFeed(_) = seen {
                    self.turn(key, CaseChange::state(id, key, &arrival.alert)?);
                }
            }
            Admission::Resumed(id) => self.writes.sighting(id, arrival, raw_id, (None, times)),
            Admission::Member(id) => {
                self.writes.member(id);
                self.stale.insert(key.to_owned());
            }
            Admission::Muted(_) | Admission::SetAside(_) => {}
        }
        Ok(admission.case().cloned())
    }

    fn turn(&mut self, key: &str, turn: CaseChange) {
        self.writes.turns.push(turn);
        self.stale.insert(key.to_owned());
    }
}
