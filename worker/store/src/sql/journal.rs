//! Writes events and conclusions of workers. Every write of a case checks its lease in the same transaction, and names
//! the epoch of its claim.

use std::sync::LazyLock;

use nightshift_alert::text::distinct_words;
use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::Lease;
use nightshift_pipeline::port::{CaseClosure, StoreError};

use super::write_id::WriteId;
use super::{
    IN_LIST, NAMES, Row, SqlStore, Statement, Tx, Value, case_workflow, revisions, spending,
    statement, values,
};
use crate::failure::Failure;
use crate::sqlite::uptime_secs;

/// The events of a revision in order.
pub(super) static EVENTS: Statement = statement!("journal/events.sql");
static HOLD: Statement = statement!("journal/hold.postgres.sql", "journal/hold.sqlite.sql");
static ADD_EVENT: Statement = statement!("journal/add_event.sql");
static IS_CONCLUDED: Statement = statement!("journal/is_concluded.postgres.sql");
static ARRIVED: Statement = statement!("journal/arrived.sql");
static ADD_CONCLUSION: Statement = statement!(
    "journal/add_conclusion.postgres.sql",
    "journal/add_conclusion.sqlite.sql"
);
static SET_WORDS: Statement = statement!("journal/set_words.sql");
static END: Statement = statement!("journal/end.sql");
static REQUEST_DELIVERIES: LazyLock<Statement> =
    LazyLock::new(|| statement!("journal/request_deliveries.sql").with("names", &NAMES));
static REQUEST_SHOWN: LazyLock<Statement> =
    LazyLock::new(|| statement!("journal/request_shown.sql").with("in_list", &IN_LIST));

/// A write of a worker to the journal of its case.
struct JournalWrite {
    lease: Lease,
    holder: String,
    write_id: WriteId,
    events: Vec<Event>,
    charge: Charge,
}

impl JournalWrite {
    fn new(store: &SqlStore, lease: &Lease, events: &[Event], charge: Charge) -> Self {
        Self {
            lease: lease.clone(),
            holder: store.leases.holder.clone(),
            write_id: WriteId::random(),
            events: events.to_vec(),
            charge,
        }
    }

    /// Adds the events and their cost if the lease is valid. Returns whether it is.
    async fn add(&self, tx: Tx<'_>) -> Result<bool, Failure> {
        let lease = &self.lease;
        let values = values![
            &lease.case_id.0,
            lease.revision,
            lease.epoch,
            self.write_id.as_str(),
            self.events.len(),
            &self.holder,
            uptime_secs(),
        ];
        if tx.optional(&HOLD, values).await?.is_none() {
            return Ok(false);
        }
        add_events(tx, lease, &self.events).await?;
        spending::add(tx, &lease.case_id, self.charge).await?;
        Ok(true)
    }
}

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::append`].
    pub(super) async fn append_events(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        let write = JournalWrite::new(self, lease, events, charge);
        let append = async move |tx: Tx<'_>| {
            let id = &write.lease.case_id.0;
            Ok(write.add(tx).await? || write.write_id.is_committed(tx, id).await?)
        };
        let lease_time = self.leases.duration;
        let doing = "write a journal";
        let is_written = self.backend.write_running(doing, lease_time, append);
        is_written.await?.then_some(()).ok_or(StoreError::LeaseLost)
    }

    /// Implements [`nightshift_pipeline::port::Cases::conclude`].
    pub(super) async fn conclude_case(
        &self,
        lease: &Lease,
        closing: &CaseClosure,
    ) -> Result<(), StoreError> {
        let write = JournalWrite::new(self, lease, &closing.events, closing.charge);
        let closing = closing.clone();
        let conclude = async move |tx: Tx<'_>| {
            if write.add(tx).await? {
                close(tx, &write.lease, &closing).await?;
                return Ok(true);
            }
            is_concluded(tx, &write.lease).await
        };
        let lease_time = self.leases.duration;
        let doing = "conclude a case";
        let is_concluded = self.backend.write_running(doing, lease_time, conclude);
        is_concluded
            .await?
            .then_some(())
            .ok_or(StoreError::LeaseLost)?;
        self.notifier.notify();
        Ok(())
    }
}

/// Adds events to the journal of a revision, with the epoch of the lease.
pub(super) async fn add_events(tx: Tx<'_>, lease: &Lease, events: &[Event]) -> Result<(), Failure> {
    let id = &lease.case_id.0;
    let mut runs = Vec::with_capacity(events.len());
    for event in events {
        let values = values![
            id,
            lease.revision,
            lease.epoch,
            event.at,
            event.body.kind(),
            event.body.command().map(|command| command.0.as_str()),
            Value::json(id, event)?,
        ];
        runs.push(values.to_vec());
    }
    tx.batch(&ADD_EVENT, &runs).await.map(drop)
}

/// Reads a journal from the rows of [`EVENTS`].
pub(super) fn to_events(id: &str, rows: &[Row]) -> Result<Vec<Event>, Failure> {
    let event = |row: &Row| {
        let (seq, event): (i64, String) = (row.get("seq")?, row.get("event")?);
        read_event(&event).map_err(|cause| Failure::Journal {
            case_id: id.to_owned(),
            seq,
            cause,
        })
    };
    rows.iter().map(event).collect()
}

/// Returns whether an earlier attempt, whose answer was lost, stored the conclusion. SQLite repeats nothing that was
/// committed.
async fn is_concluded(tx: Tx<'_>, lease: &Lease) -> Result<bool, Failure> {
    if let Tx::Sqlite(_) = tx {
        return Ok(false);
    }
    let values = values![&lease.case_id.0, lease.revision, lease.epoch];
    Ok(tx.optional(&IS_CONCLUDED, values).await?.is_some())
}

/// Stores the conclusion, requests its deliveries, and starts the next triage of the case if there is one.
async fn close(tx: Tx<'_>, lease: &Lease, closing: &CaseClosure) -> Result<(), Failure> {
    let id = &lease.case_id.0;
    add_conclusion(tx, lease, closing).await?;
    let conclusion = &closing.conclusion;
    let at = closing.report.concluded_at;
    let values = values![
        id,
        closing.status.as_str(),
        conclusion.verdict.as_str(),
        conclusion.leaning.as_str(),
        conclusion.assessed_severity,
        at,
        closing.wants_model,
        closing.recheck_at,
    ];
    tx.execute(&END, values).await?;
    let destinations = || closing.destinations.iter().map(String::as_str).collect();
    let named: Vec<&str> = destinations();
    tx.execute(&REQUEST_SHOWN, values![named, id, at]).await?;
    let named: Vec<&str> = destinations();
    tx.execute(&REQUEST_DELIVERIES, values![id, named, at])
        .await?;
    let is_pending_started = revisions::start_pending(tx, id).await?;
    if let Some(cleared) = closing.clearance() {
        revisions::settle_sightings(tx, id, cleared, is_pending_started).await?;
    }
    case_workflow::reopen_unseen(tx, id).await
}

/// Adds the conclusion. The report has the current number of arrivals of its alert.
async fn add_conclusion(tx: Tx<'_>, lease: &Lease, closing: &CaseClosure) -> Result<(), Failure> {
    let id = &lease.case_id.0;
    let arrived = tx.one(&ARRIVED, values![id]).await?;
    let mut report = closing.report.clone();
    report.alert.sightings = arrived.get("sightings")?;
    report.alert.members = arrived.get("members")?;
    let conclusion = &closing.conclusion;
    let values = values![
        id,
        lease.revision,
        report.concluded_at,
        conclusion.verdict.as_str(),
        conclusion.leaning.as_str(),
        conclusion.reason.as_str(),
        conclusion.confidence.as_str(),
        conclusion.assessed_severity,
        Value::json(id, &report)?,
        lease.epoch,
        closing.status.as_str(),
    ];
    tx.execute(&ADD_CONCLUSION, values).await?;
    let (alert, summary) = (&report.alert, report.summary.as_str());
    let words = distinct_words(&[&alert.title, &alert.description, summary]).join(" ");
    tx.execute(&SET_WORDS, values![id, &words]).await.map(drop)
}
