//! Writes all decisions at once, with one statement per table.

use nightshift_alert::Alert;
use nightshift_pipeline::admission::{Admission, SightingTimes};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::intake::Arrival;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::columns::{Alerts, Arrivals, Cases, Indicators, Letters, Raw, Sightings};
use crate::postgres::case_workflow::TOUCH;
use crate::postgres::database::{Session, SqlValue};
use crate::postgres::failure::PostgresFailure;
use crate::postgres::listener::NOTIFY;
use crate::postgres::row::{json, number, text};

pub(super) use super::case_change::{CaseChange, PostgresNextAlert};

/// The maximum number of bytes of a message that are stored.
const MOST_RAW_BYTES: usize = 16 * 1024 * 1024;

const ADD_RAW: &str = "INSERT INTO raw_messages (id, source, received_at, size_bytes, sha256, bytes, blob) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::bigint[], $5::text[], $6::bytea[], $7::text[])";
/// The waiting time starts at the clock of the database, whichever worker accepted the alert.
const ADD_CASES: &str = "INSERT INTO cases \
     (id, key, feed, type, title, account, severity, content, status, opened_at, revised_at, updated_at, sample) \
     SELECT id, key, feed, type, title, account, severity::severity, content, 'queued', at, clock_timestamp(), updated_at, sample \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], \
         $9::timestamptz[], $10::timestamptz[], $11::boolean[]) \
         WITH ORDINALITY AS one (id, key, feed, type, title, account, severity, content, at, updated_at, sample, number) \
     ORDER BY number";
const ADD_ALERTS: &str = "INSERT INTO alerts (case_id, revision, raw_id, source, received_at, alert) \
     SELECT id, 1, raw_id, source, at, alert::jsonb \
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[], $5::text[]) AS one (id, raw_id, source, at, alert)";
/// Inserts thousands of rows. `FROM unnest(…)` would first materialise each column, which costs an eighth of the
/// statement.
const ADD_INDICATORS: &str = "INSERT INTO indicators (type, value, case_id, role) \
     SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])";
const ADD_SIGHTINGS: &str = "INSERT INTO sightings (case_id, raw_id, source, received_at, count, content, note) \
     SELECT id, raw_id, source, at, count, content, note \
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[], $5::bigint[], $6::text[], $7::text[]) \
         WITH ORDINALITY AS one (id, raw_id, source, at, count, content, note, number) ORDER BY number";
const COUNT_SIGHTINGS: &str = "UPDATE cases SET sightings = sightings + seen.count, \
         first_event = least(first_event, seen.first), last_event = greatest(last_event, seen.last), \
         events_until = greatest(cases.events_until, seen.events_until) \
     FROM (SELECT id, count(*), min(first) AS first, max(last) AS last, max(events_until) AS events_until \
         FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[]) AS one (id, first, last, events_until) \
         GROUP BY id) AS seen \
     WHERE cases.id = seen.id";
const COUNT_MEMBERS: &str = "UPDATE cases SET members = members + joined.count \
     FROM (SELECT id, count(*) FROM unnest($1::text[]) AS id GROUP BY id) AS joined WHERE cases.id = joined.id";
const ADD_LETTERS: &str = "INSERT INTO dead_letters (id, source, received_at, error, size_bytes, sha256, raw_id, case_id) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::bigint[], $6::text[], \
         $7::bigint[], $8::text[])";
const ADD_ARRIVALS: &str = "INSERT INTO arrivals (raw_id, source, received_at, key, feed, type, title, account, severity, \
         outcome, reason, case_id, dead_letter_id, alert) \
     SELECT raw_id, source, at, key, feed, type, title, account, severity::severity, outcome, reason, case_id, letter, alert::jsonb \
     FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], \
         $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::text[]) \
         WITH ORDINALITY AS one (raw_id, source, at, key, feed, type, title, account, severity, outcome, reason, case_id, \
             letter, alert, number) \
     ORDER BY number";
const ADD_BATCH: &str = "INSERT INTO batches (id, alerts) VALUES ($1, $2)";

/// All statements of this module. They are sent together, so each must be prepared.
pub(super) const STATEMENTS: [&str; 12] = [
    ADD_RAW,
    ADD_CASES,
    ADD_ALERTS,
    ADD_INDICATORS,
    ADD_SIGHTINGS,
    COUNT_SIGHTINGS,
    COUNT_MEMBERS,
    TOUCH,
    ADD_LETTERS,
    ADD_ARRIVALS,
    ADD_BATCH,
    NOTIFY,
];

/// The place of an arrival in the ledger.
pub(super) struct LedgerRow {
    pub(super) raw_id: i64,
    pub(super) key: String,
    pub(super) case_id: Option<CaseId>,
    pub(super) dead_letter: Option<i64>,
}

/// The final statements of a transaction.
pub(super) struct BatchEnd {
    pub(super) name: Uuid,
    pub(super) alerts: usize,
}

/// All rows that a part writes.
#[derive(Default)]
pub(super) struct BatchWrites<'a> {
    raw: Raw<'a>,
    cases: Cases<'a>,
    alerts: Alerts<'a>,
    indicators: Indicators<'a>,
    sightings: Sightings<'a>,
    members: Vec<String>,
    letters: Letters<'a>,
    arrivals: Arrivals<'a>,
    pub(super) turns: Vec<CaseChange>,
}

impl<'a> BatchWrites<'a> {
    /// Adds the message of an arrival. If it has a blob, its bytes are there.
    pub(super) fn raw_message(&mut self, id: i64, arrival: &'a Arrival, blob: Option<String>) {
        let raw = &mut self.raw;
        raw.ids.push(id);
        raw.sources.push(text(&arrival.source));
        raw.at.push(arrival.at);
        raw.sizes.push(size(arrival));
        raw.digests.push(digest(&arrival.raw));
        let kept = arrival.raw.get(..MOST_RAW_BYTES).unwrap_or(&arrival.raw);
        raw.bytes.push(if blob.is_some() { &[] } else { kept });
        raw.blobs.push(blob);
    }

    /// Adds a new case with its alert.
    pub(super) fn case(
        &mut self,
        id: &CaseId,
        arrival: &'a Arrival,
        key: &str,
        raw_id: i64,
    ) -> Result<(), PostgresFailure> {
        let alert: &Alert = &arrival.alert;
        let cases = &mut self.cases;
        cases.ids.push(id.0.clone());
        cases.keys.push(key.to_owned());
        cases.feeds.push(text(&alert.feed));
        cases.kinds.push(text(&alert.kind));
        cases.titles.push(text(&alert.title));
        cases.accounts.push(alert.account.as_deref().map(text));
        cases.severities.push(alert.lane_severity().as_str());
        cases.contents.push(text(&alert.content.0));
        cases.at.push(arrival.at);
        cases.updated.push(alert.times.updated);
        cases.samples.push(alert.is_sample());
        let alerts = &mut self.alerts;
        alerts.ids.push(id.0.clone());
        alerts.raw_ids.push(raw_id);
        alerts.sources.push(text(&arrival.source));
        alerts.at.push(arrival.at);
        alerts.alerts.push(json(&id.0, alert)?);
        for indicator in &alert.indicators {
            self.indicators.kinds.push(indicator.kind.as_str());
            self.indicators.values.push(text(&indicator.value));
            self.indicators.ids.push(id.0.clone());
            self.indicators.roles.push(indicator.role.as_str());
        }
        Ok(())
    }

    /// Adds a sighting of an alert that has a case.
    pub(super) fn sighting(
        &mut self,
        id: &CaseId,
        arrival: &'a Arrival,
        raw_id: i64,
        (note, times): (Option<String>, SightingTimes),
    ) {
        let sightings = &mut self.sightings;
        sightings.ids.push(id.0.clone());
        sightings.raw_ids.push(raw_id);
        sightings.sources.push(text(&arrival.source));
        sightings.at.push(arrival.at);
        sightings.counts.push(number(arrival.alert.count));
        sightings.contents.push(text(&arrival.alert.content.0));
        sightings
            .notes
            .push(note.map(|note| text(&note).into_owned()));
        sightings
            .first
            .push(times.uncleared.map(|(first, _)| first));
        sightings.last.push(times.uncleared.map(|(_, last)| last));
        sightings.events_until.push(times.events_until);
    }

    /// Counts another member of a storm.
    pub(super) fn member(&mut self, first: &CaseId) {
        self.members.push(first.0.clone());
    }

    /// Adds a dead letter.
    pub(super) fn dead_letter(
        &mut self,
        id: i64,
        arrival: &'a Arrival,
        why: &'a str,
        raw_id: i64,
        case_id: Option<&CaseId>,
    ) {
        let letters = &mut self.letters;
        letters.ids.push(id);
        letters.sources.push(text(&arrival.source));
        letters.at.push(arrival.at);
        letters.errors.push(text(why));
        letters.sizes.push(size(arrival));
        letters.digests.push(digest(&arrival.raw));
        letters.raw_ids.push(raw_id);
        letters.case_ids.push(case_id.map(|id| id.0.clone()));
    }

    /// Adds the row of the ledger.
    pub(super) fn arrival(
        &mut self,
        arrival: &'a Arrival,
        place: LedgerRow,
        admission: &Admission,
    ) -> Result<(), PostgresFailure> {
        let alert: &Alert = &arrival.alert;
        let is_kept_here = matches!(
            admission,
            Admission::Member(_) | Admission::Muted(_) | Admission::SetAside(_)
        );
        let kept = is_kept_here.then(|| json(&place.key, alert)).transpose()?;
        let ledger = &mut self.arrivals;
        ledger.raw_ids.push(place.raw_id);
        ledger.sources.push(text(&arrival.source));
        ledger.at.push(arrival.at);
        ledger.keys.push(place.key);
        ledger.feeds.push(text(&alert.feed));
        ledger.kinds.push(text(&alert.kind));
        ledger.titles.push(text(&alert.title));
        ledger.accounts.push(alert.account.as_deref().map(text));
        ledger.severities.push(alert.severity.as_str());
        ledger.outcomes.push(admission.as_str());
        ledger
            .why
            .push(admission.reason().map(|why| text(&why).into_owned()));
        ledger.case_ids.push(place.case_id.map(|id| id.0));
        ledger.letters.push(place.dead_letter);
        ledger.alerts.push(kept);
        Ok(())
    }

    /// Sends all rows at once. Referenced rows are sent before the rows that refer to them. `last` also ends the
    /// transaction.
    pub(super) async fn send(
        &self,
        session: &Session,
        last: Option<BatchEnd>,
    ) -> Result<(), PostgresFailure> {
        tokio::try_join!(
            biased;
            Box::pin(self.send_cases(session)),
            Box::pin(self.send_others(session)),
            super::case_change::send(session, &self.turns),
            Box::pin(self.send_ledger(session)),
            Box::pin(end(session, last)),
        )?;
        Ok(())
    }

    async fn send_cases(&self, session: &Session) -> Result<(), PostgresFailure> {
        let (r, c, a, i) = (&self.raw, &self.cases, &self.alerts, &self.indicators);
        let raw = async {
            unless(
                r.ids.is_empty(),
                session,
                ADD_RAW,
                [
                    &r.ids, &r.sources, &r.at, &r.sizes, &r.digests, &r.bytes, &r.blobs,
                ],
            )
            .await
        };
        let cases = async {
            unless(
                c.ids.is_empty(),
                session,
                ADD_CASES,
                [
                    &c.ids,
                    &c.keys,
                    &c.feeds,
                    &c.kinds,
                    &c.titles,
                    &c.accounts,
                    &c.severities,
                    &c.contents,
                    &c.at,
                    &c.updated,
                    &c.samples,
                ],
            )
            .await
        };
        let alerts = async {
            unless(
                a.ids.is_empty(),
                session,
                ADD_ALERTS,
                [&a.ids, &a.raw_ids, &a.sources, &a.at, &a.alerts],
            )
            .await
        };
        let indicators = async {
            unless(
                i.ids.is_empty(),
                session,
                ADD_INDICATORS,
                [&i.kinds, &i.values, &i.ids, &i.roles],
            )
            .await
        };
        tokio::try_join!(biased; raw, cases, alerts, indicators)?;
        Ok(())
    }

    async fn send_others(&self, session: &Session) -> Result<(), PostgresFailure> {
        let (s, l, members) = (&self.sightings, &self.letters, &self.members);
        let sightings = async {
            unless(
                s.ids.is_empty(),
                session,
                ADD_SIGHTINGS,
                [
                    &s.ids,
                    &s.raw_ids,
                    &s.sources,
                    &s.at,
                    &s.counts,
                    &s.contents,
                    &s.notes,
                ],
            )
            .await
        };
        let letters = async {
            unless(
                l.ids.is_empty(),
                session,
                ADD_LETTERS,
                [
                    &l.ids,
                    &l.sources,
                    &l.at,
                    &l.errors,
                    &l.sizes,
                    &l.digests,
                    &l.raw_ids,
                    &l.case_ids,
                ],
            )
            .await
        };
        tokio::try_join!(
            biased;
            sightings,
            unless(s.ids.is_empty(), session, COUNT_SIGHTINGS, [&s.ids, &s.first, &s.last, &s.events_until]),
            unless(members.is_empty(), session, COUNT_MEMBERS, [members]),
            unless(s.ids.is_empty(), session, TOUCH, [&s.ids]),
            unless(members.is_empty(), session, TOUCH, [members]),
            letters,
        )?;
        Ok(())
    }

    async fn send_ledger(&self, session: &Session) -> Result<(), PostgresFailure> {
        let a = &self.arrivals;
        unless(
            a.raw_ids.is_empty(),
            session,
            ADD_ARRIVALS,
            [
                &a.raw_ids,
                &a.sources,
                &a.at,
                &a.keys,
                &a.feeds,
                &a.kinds,
                &a.titles,
                &a.accounts,
                &a.severities,
                &a.outcomes,
                &a.why,
                &a.case_ids,
                &a.letters,
                &a.alerts,
            ],
        )
        .await
    }
}

async fn end(session: &Session, last: Option<BatchEnd>) -> Result<(), PostgresFailure> {
    let Some(last) = last else {
        return Ok(());
    };
    let alerts = i32::try_from(last.alerts).unwrap_or(i32::MAX);
    tokio::try_join!(
        biased;
        session.change(ADD_BATCH, [&last.name, &alerts]),
        session.row(NOTIFY, []),
        session.commit(),
    )?;
    Ok(())
}

async fn unless<const N: usize>(
    is_empty: bool,
    session: &Session,
    sql: &str,
    values: [SqlValue<'_>; N],
) -> Result<(), PostgresFailure> {
    if !is_empty {
        session.change(sql, values).await?;
    }
    Ok(())
}

fn size(arrival: &Arrival) -> i64 {
    i64::try_from(arrival.raw.len()).unwrap_or(i64::MAX)
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
