//! Reads a case with all its data, and its journal.

use std::sync::LazyLock;

use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use nightshift_pipeline::case::{CaseId, CaseView, DeliveryRow, Sighting, StormMember};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::port::StoreError;

use super::{
    Row, SqlStore, Statement, Tx, case_workflow, cases, feedback, journal, statement, values,
};
use crate::failure::Failure;

/// The maximum number of sightings of a case that are read.
const MOST_SIGHTINGS: usize = 100;
/// The maximum number of members of a storm that are read.
const MOST_MEMBERS: usize = 100;

static JOURNAL: Statement = statement!("case_view/journal.sql");
static CANCELLED_BY: Statement = statement!("case_view/cancelled_by.sql");
static REPORT: Statement = statement!("case_view/report.sql");
static SIGHTINGS: LazyLock<Statement> =
    LazyLock::new(|| statement!("case_view/sightings.sql").with("number", &NUMBER));
static MEMBERS: LazyLock<Statement> =
    LazyLock::new(|| statement!("case_view/members.sql").with("number", &NUMBER));
static DELIVERIES: Statement = statement!("case_view/deliveries.sql");

/// The number of a row, by which the rows of a case are sorted. For `id`, the planner of PostgreSQL would scan all rows
/// by id until it finds some of the case.
static NUMBER: Statement = Statement::new("id + 0", "id");

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::view`].
    pub(super) async fn view_case(&self, id: &str) -> Result<CaseView, StoreError> {
        let id = id.to_owned();
        let read = async move |tx: Tx<'_>| Box::pin(view(tx, &id)).await;
        self.backend.read("read a case", read).await
    }

    /// Implements [`nightshift_pipeline::port::Cases::journal`].
    pub(super) async fn read_journal(
        &self,
        id: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError> {
        let id = id.clone();
        let read = async move |tx: Tx<'_>| {
            let rows = tx.all(&JOURNAL, values![&id.0, revision]).await?;
            rows.iter().map(to_line).collect()
        };
        self.backend.read("read a journal", read).await
    }
}

/// Returns all data of the case with this id or id prefix.
async fn view(tx: Tx<'_>, id: &str) -> Result<CaseView, Failure> {
    let found = cases::find(tx, id).await?;
    let (id, revision) = (found.id.0.as_str(), found.revision);
    let (events, unreadable) = readable_events(tx, id, revision).await?;
    let report = tx.optional(&REPORT, values![id]).await?;
    let cancelled_by = tx.optional(&CANCELLED_BY, values![id, revision]).await?;
    Ok(CaseView {
        alert: cases::alert(tx, id, revision).await?,
        events,
        unreadable,
        cancelled_by: cancelled_by.map_or(Ok(None), |row| row.get("cancelled_by"))?,
        report: report.map(|row| row.json("report", id)).transpose()?,
        sightings: sightings(tx, id).await?,
        members: members(tx, id).await?,
        person_verdicts: feedback::of_case(tx, id).await?,
        workflow: case_workflow::case_workflow(tx, id).await?,
        deliveries: deliveries(tx, id).await?,
        row: found,
    })
}

/// Returns the journal of a revision up to its end, or to the first event that this version cannot read, with the
/// reason.
async fn readable_events(
    tx: Tx<'_>,
    id: &str,
    revision: u32,
) -> Result<(Vec<Event>, Option<String>), Failure> {
    let mut events = Vec::new();
    for row in tx.all(&journal::EVENTS, values![id, revision]).await? {
        let (seq, event): (i64, String) = (row.get("seq")?, row.get("event")?);
        match read_event(&event) {
            Ok(event) => events.push(event),
            Err(cause) => return Ok((events, Some(format!("event {seq}: {cause}")))),
        }
    }
    Ok((events, None))
}

fn to_line(row: &Row) -> Result<JournalLine, Failure> {
    Ok(JournalLine {
        revision: row.get("revision")?,
        seq: row.get("seq")?,
        epoch: row.get("epoch")?,
        event: row.get("event")?,
    })
}

async fn sightings(tx: Tx<'_>, id: &str) -> Result<Vec<Sighting>, Failure> {
    let rows = tx.all(&SIGHTINGS, values![id, MOST_SIGHTINGS]).await?;
    let sighting = |row: &Row| {
        Ok(Sighting {
            at: row.get("received_at")?,
            source: row.get("source")?,
            count: row.get("count")?,
            note: row.get("note")?,
        })
    };
    rows.iter().map(sighting).collect()
}

async fn members(tx: Tx<'_>, id: &str) -> Result<Vec<StormMember>, Failure> {
    let rows = tx.all(&MEMBERS, values![id, MOST_MEMBERS]).await?;
    let member = |row: &Row| {
        Ok(StormMember {
            at: row.get("received_at")?,
            source: row.get("source")?,
            key: row.get("key")?,
            severity: row.get("severity")?,
            title: row.get("title")?,
        })
    };
    rows.iter().map(member).collect()
}

async fn deliveries(tx: Tx<'_>, id: &str) -> Result<Vec<DeliveryRow>, Failure> {
    let rows = tx.all(&DELIVERIES, values![id]).await?;
    let delivery = |row: &Row| {
        let shown: Option<String> = row.get("shown")?;
        Ok(DeliveryRow {
            destination: row.get("destination")?,
            wanted: row.get("wanted_version")?,
            sent: row.get("sent_version")?,
            attempts: row.get("attempts")?,
            error: row.get("error")?,
            given_up: row.get("given_up")?,
            in_doubt: row.get("in_doubt")?,
            remote_id: row.get("remote_id")?,
            shown: shown.and_then(|text| serde_json::from_str(&text).ok()),
        })
    };
    rows.iter().map(delivery).collect()
}
