//! Writes events and conclusions of workers. Each write names its epoch, and can be found again if its answer was lost.
//!
//! A part of a journal is one statement and one round trip: it checks the lease, adds the events, and charges their
//! cost.

use nightshift_engine::event::Event;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::Lease;
use nightshift_pipeline::port::{CaseClosure, StoreError};
use uuid::Uuid;

use super::PostgresStore;
use super::case_workflow::REOPEN;
use super::database::{RetryAttempts, Session, SqlValue};
use super::failure::PostgresFailure;
use super::row::{json, number, revision, text};

/// Uses `clock_timestamp` instead of `now`, because a statement that waited for a lock is judged by the time at which
/// it got the lock.
const APPEND: &str = "WITH held AS ( \
         UPDATE cases SET journal_seq = journal_seq + cardinality($5::timestamptz[]), last_write_id = $4, usd = usd + $9 \
         WHERE id = $1 AND revision = $2 AND epoch = $3 AND status = 'running' AND lease_until > clock_timestamp() \
             AND last_write_id IS DISTINCT FROM $4 \
         RETURNING id, journal_seq \
     ), written AS ( \
         INSERT INTO journal (case_id, revision, seq, epoch, at, kind, command, event) \
         SELECT $1, $2, held.journal_seq - cardinality($5::timestamptz[]) + news.number, $3, news.at, news.kind, news.command, \
             news.event::jsonb \
         FROM held CROSS JOIN unnest($5::timestamptz[], $6::text[], $7::text[], $8::text[]) \
             WITH ORDINALITY AS news (at, kind, command, event, number) \
     ), charged AS ( \
         INSERT INTO spending (day, case_id, urgent, usd) SELECT $10::date, id, $11::boolean, $9 FROM held WHERE $9 <> 0 \
         ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = spending.usd + excluded.usd \
     ) \
     SELECT count(*) FROM held";
/// Checks whether a write with a lost answer was committed. The next attempt waits for it if it is still running.
const IS_WRITTEN: &str = "SELECT FROM cases WHERE id = $1 AND last_write_id = $2";
/// The report contains the current number of arrivals of its alert, because the first statement locks the row.
const ADD_CONCLUSION: &str = "INSERT INTO conclusions \
     (case_id, revision, epoch, concluded_at, status, verdict, leaning, reason, confidence, assessed_severity, usd, report) \
     SELECT id, revision, epoch, $5, $6, $7, $8, $9, $10, $11::text::severity, \
         (told #>> '{cost,usd}')::double precision, \
         jsonb_set(jsonb_set(told, '{alert,sightings}', to_jsonb(sightings)), '{alert,members}', to_jsonb(members)) \
     FROM cases CROSS JOIN (SELECT $12::text::jsonb AS told OFFSET 0) AS read_once \
     WHERE id = $1 AND revision = $2 AND epoch = $3 AND status = 'running' AND last_write_id = $4";
/// Requests a delivery to the destinations of the route, and to each destination that shows the case or may show it, so
/// that its readers learn the result. A delivery that a person gave up while its send was ambiguous belongs to a
/// removed destination.
const WISH: &str = "INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at) \
     SELECT id, destination, 1, 1, $5 FROM cases CROSS JOIN ( \
         SELECT unnest($6::text[]) AS destination UNION \
         SELECT destination FROM deliveries WHERE case_id = $1 AND (shown IS NOT NULL OR begun_at IS NOT NULL AND NOT given_up) \
     ) AS told \
     WHERE id = $1 AND revision = $2 AND epoch = $3 AND status = 'running' AND last_write_id = $4 \
     ON CONFLICT (case_id, destination) DO UPDATE \
     SET wanted_version = deliveries.wanted_version + 1, major_version = deliveries.wanted_version + 1, requested_at = $5, attempts = 0, retry_at = NULL, given_up = false, error = NULL, \
         instead_of = NULL";
/// Ends the triage. If another alert of the case waits for that, the case waits for its triage. Otherwise, the
/// sightings in between are cleared with it, or the same alert is triaged once more together with them.
const END: &str = "WITH pending AS ( \
         DELETE FROM pending_revisions WHERE (case_id, seq) = \
             (SELECT id, min(seq) FROM cases JOIN pending_revisions ON case_id = id \
              WHERE id = $1 AND cases.revision = $2 AND epoch = $3 AND status = 'running' AND last_write_id = $4 GROUP BY id) \
         RETURNING * \
     ), held AS ( \
         SELECT id, $7 IN ('benign_true_positive', 'false_positive') AS is_cleared, \
             coalesce(last_event > $11 OR first_event < $12, false) AS is_wider \
         FROM cases WHERE id = $1 AND revision = $2 AND epoch = $3 AND status = 'running' AND last_write_id = $4 \
     ), next AS ( \
         SELECT case_id, raw_id, source, received_at, reason, alert, severity, content, title, type FROM pending \
         UNION ALL SELECT id, raw_id, source, received_at, 'no_longer_cleared', alert, NULL, NULL, NULL, NULL \
         FROM held JOIN alerts ON case_id = id AND revision = $2 WHERE is_wider AND NOT EXISTS (SELECT FROM pending) \
     ), ended AS ( \
         UPDATE cases SET verdict = $7, leaning = $8, assessed_severity = $9::text::severity, concluded_at = $5, \
             lease_holder = NULL, lease_until = NULL, crashes = 0, needs_model = $10 AND next.case_id IS NULL, \
             recheck_at = CASE WHEN next.case_id IS NULL THEN $13::timestamptz END, logs_complete_until = NULL, \
             status = CASE WHEN next.case_id IS NULL THEN $6 ELSE 'queued' END, \
             revision = revision + CASE WHEN next.case_id IS NULL THEN 0 ELSE 1 END, \
             journal_seq = CASE WHEN next.case_id IS NULL THEN journal_seq ELSE 0 END, \
             severity = coalesce(next.severity, cases.severity), content = coalesce(next.content, cases.content), \
             title = coalesce(next.title, cases.title), type = coalesce(next.type, cases.type), \
             revised_at = CASE WHEN next.case_id IS NULL THEN revised_at ELSE clock_timestamp() END, \
             waiting_since = clock_timestamp(), \
             first_event = CASE WHEN is_cleared AND NOT is_wider THEN NULL ELSE first_event END, \
             last_event = CASE WHEN is_cleared AND NOT is_wider THEN NULL ELSE last_event END \
         FROM held LEFT JOIN next ON true \
         WHERE cases.id = $1 AND cases.revision = $2 AND epoch = $3 AND status = 'running' AND last_write_id = $4 \
         RETURNING cases.id, cases.revision \
     ) \
     INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert) \
     SELECT ended.id, ended.revision, next.raw_id, next.source, next.received_at, next.reason, next.alert \
     FROM ended JOIN next ON true";
/// Checks whether this attempt or an earlier one stored the conclusion.
const IS_CONCLUDED: &str =
    "SELECT FROM conclusions WHERE case_id = $1 AND revision = $2 AND epoch = $3";

/// The columns of events.
struct EventColumns<'a> {
    at: Vec<chrono::DateTime<chrono::Utc>>,
    kinds: Vec<&'static str>,
    commands: Vec<Option<&'a str>>,
    texts: Vec<String>,
}

impl<'a> EventColumns<'a> {
    fn from_events(lease: &Lease, events: &'a [Event]) -> Result<Self, PostgresFailure> {
        let texts = events.iter().map(|event| json(&lease.case_id.0, event));
        Ok(Self {
            at: events.iter().map(|event| event.at).collect(),
            kinds: events.iter().map(|event| event.body.kind()).collect(),
            commands: events
                .iter()
                .map(|event| event.body.command().map(|id| id.0.as_str()))
                .collect(),
            texts: texts.collect::<Result<_, _>>()?,
        })
    }
}

/// The identity of a write: case, revision, epoch, and a unique id.
struct JournalWrite<'a> {
    id: &'a str,
    revision: i32,
    epoch: i64,
    name: Uuid,
    charge: Charge,
}

impl<'a> JournalWrite<'a> {
    fn new(lease: &'a Lease, charge: Charge) -> Self {
        Self {
            id: &lease.case_id.0,
            revision: revision(lease.revision),
            epoch: number(lease.epoch),
            name: Uuid::new_v4(),
            charge,
        }
    }

    /// Adds the events if the lease is valid. Returns whether it is.
    async fn append(
        &self,
        session: &Session,
        news: &EventColumns<'_>,
    ) -> Result<bool, PostgresFailure> {
        let row = session
            .row(
                APPEND,
                [
                    &self.id,
                    &self.revision,
                    &self.epoch,
                    &self.name,
                    &news.at,
                    &news.kinds,
                    &news.commands,
                    &news.texts,
                    &self.charge.usd,
                    &self.charge.day,
                    &self.charge.urgent,
                ],
            )
            .await?;
        let held: i64 = row.map_or(Ok(0), |row| row.try_get(0))?;
        Ok(held > 0)
    }
}

impl PostgresStore {
    /// Implements [`nightshift_pipeline::port::Cases::append`].
    pub(super) async fn write(
        &self,
        lease: &Lease,
        events: &[Event],
        charge: Charge,
    ) -> Result<(), StoreError> {
        let failed = |failure: PostgresFailure| failure.into_store_error("write a journal");
        let news = EventColumns::from_events(lease, events).map_err(failed)?;
        let write = JournalWrite::new(lease, charge);
        let mut tries = RetryAttempts::for_running_case("write a journal", self.lease);
        loop {
            match self.database.within(self.try_write(&write, &news)).await {
                Ok(()) => return Ok(()),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    async fn try_write(
        &self,
        write: &JournalWrite<'_>,
        news: &EventColumns<'_>,
    ) -> Result<(), PostgresFailure> {
        let session = self.database.session(&[]).await?;
        let is_written = write.append(&session, news).await?
            || session
                .row(IS_WRITTEN, [&write.id, &write.name])
                .await?
                .is_some();
        session.done();
        if is_written {
            Ok(())
        } else {
            Err(PostgresFailure::LeaseLost)
        }
    }

    /// Implements [`nightshift_pipeline::port::Cases::conclude`].
    pub(super) async fn end(&self, lease: &Lease, closing: &CaseClosure) -> Result<(), StoreError> {
        let failed = |failure: PostgresFailure| failure.into_store_error("conclude a case");
        let news = EventColumns::from_events(lease, &closing.events).map_err(failed)?;
        let report = json(&lease.case_id.0, &closing.report).map_err(failed)?;
        let write = JournalWrite::new(lease, closing.charge);
        let mut tries = RetryAttempts::for_running_case("conclude a case", self.lease);
        loop {
            // The future is boxed because it holds all statements that are sent together.
            let one = Box::pin(self.try_end(&write, &news, closing, &report));
            match self.database.within(one).await {
                Ok(()) => {
                    self.notifier.notify();
                    return Ok(());
                }
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Sends all statements at once. Those after the first have no effect unless the first one found a valid lease.
    async fn try_end(
        &self,
        write: &JournalWrite<'_>,
        news: &EventColumns<'_>,
        closing: &CaseClosure,
        report: &str,
    ) -> Result<(), PostgresFailure> {
        let statements = [APPEND, ADD_CONCLUSION, WISH, END, REOPEN, IS_CONCLUDED];
        let session = self.database.session(&statements).await?;
        let (id, revision, epoch, name) = (&write.id, &write.revision, &write.epoch, &write.name);
        let ours = Some(write.name);
        let (at, status) = (&closing.report.concluded_at, &closing.status.as_str());
        let conclusion = &closing.conclusion;
        let (verdict, leaning) = (&conclusion.verdict.as_str(), &conclusion.leaning.as_str());
        let (reason, confidence) = (&conclusion.reason.as_str(), &conclusion.confidence.as_str());
        let assessed = &conclusion.assessed_severity.as_str();
        let destinations: Vec<_> = closing.destinations.iter().map(|name| text(name)).collect();
        let cleared = closing.clearance();
        let until = cleared.and_then(|cleared| cleared.until);
        let from = cleared.and_then(|cleared| cleared.from);
        let ended: [SqlValue<'_>; 13] = [
            id,
            revision,
            epoch,
            name,
            at,
            status,
            verdict,
            leaning,
            assessed,
            &closing.wants_model,
            &until,
            &from,
            &closing.recheck_at,
        ];
        let concluded: [SqlValue<'_>; 12] = [
            id, revision, epoch, name, at, status, verdict, leaning, reason, confidence, assessed,
            &report,
        ];
        let (_, _, _, _, _, _, is_concluded, _) = tokio::try_join!(
            biased;
            session.begin(),
            write.append(&session, news),
            session.change(ADD_CONCLUSION, concluded),
            session.change(WISH, [id, revision, epoch, name, at, &destinations]),
            session.change(END, ended),
            session.change(REOPEN, [id, &ours]),
            session.row(IS_CONCLUDED, [id, revision, epoch]),
            session.commit(),
        )?;
        session.done();
        if is_concluded.is_some() {
            Ok(())
        } else {
            Err(PostgresFailure::LeaseLost)
        }
    }
}
