//! Changes the alert that a case triages: an alert replaces a waiting one, or is triaged next, at once or after the
//! current triage. These changes are rare, and each takes up to three statements.

use futures_util::future::{BoxFuture, FutureExt, try_join_all};
use nightshift_alert::Alert;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::intake::Arrival;

use crate::postgres::case_workflow::REOPEN;
use crate::postgres::database::Session;
use crate::postgres::failure::PostgresFailure;
use crate::postgres::row::{json, text};
use chrono::{DateTime, Utc};

/// Triages the case again: at once if it is over, else after the current and pending triages.
const AGAIN: &str = "WITH revised AS ( \
         UPDATE cases SET revision = revision + 1, status = 'queued', severity = $7::text::severity, content = $8, \
             title = $9, type = $10, revised_at = clock_timestamp(), journal_seq = 0, crashes = 0, needs_model = false, lease_holder = NULL, lease_until = NULL, \
             waiting_since = clock_timestamp() \
         WHERE id = $1 AND status IN ('concluded', 'failed', 'cancelled') RETURNING id, revision \
     ), added AS ( \
         INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert) \
         SELECT id, revision, $2, $3, $4, $5, $6::text::jsonb FROM revised \
     ) \
     INSERT INTO pending_revisions (case_id, seq, raw_id, source, received_at, reason, alert, severity, content, title, type) \
     SELECT $1, (SELECT coalesce(max(seq), 0) + 1 FROM pending_revisions WHERE case_id = $1), $2, $3, $4, $5, \
         $6::text::jsonb, $7::text::severity, $8, $9, $10 \
     WHERE NOT EXISTS (SELECT FROM revised)";
/// Replaces the alert that waits last. If that one only repeated a triage, the reason becomes that of the new alert.
const REPLACE: &str = "WITH pending AS ( \
         UPDATE pending_revisions SET raw_id = $2, source = $3, alert = $4::text::jsonb, severity = $5::text::severity, \
             content = $6, title = $7, type = $8, reason = CASE WHEN reason IN ('asked', 'models_back') THEN $9 ELSE reason END \
         WHERE case_id = $1 AND seq = (SELECT max(seq) FROM pending_revisions WHERE case_id = $1) RETURNING case_id \
     ), replaced AS ( \
         UPDATE cases SET severity = $5::text::severity, content = $6, title = $7, type = $8 \
         WHERE id = $1 AND NOT EXISTS (SELECT FROM pending) RETURNING id, revision \
     ) \
     UPDATE alerts SET raw_id = $2, source = $3, alert = $4::text::jsonb, \
         reason = CASE WHEN reason IN ('asked', 'models_back') THEN $9 ELSE reason END \
     FROM replaced WHERE case_id = replaced.id AND alerts.revision = replaced.revision";
/// Records the latest alert of the case, which clears an earlier state at the feed. A case that waits for a more severe
/// alert gets its severity.
const NOTE: &str = "UPDATE cases SET feed_state = NULL, updated_at = coalesce($2, updated_at), \
     severity = greatest(severity, $3::text::severity) WHERE id = $1";
/// Adds new indicators. Existing ones stay unchanged.
const ADD_INDICATORS: &str = "INSERT INTO indicators (type, value, case_id, role) \
     SELECT type, value, $3, role FROM unnest($1::text[], $2::text[], $4::text[]) AS new (type, value, role) \
     EXCEPT SELECT type, value, case_id, role FROM indicators WHERE case_id = $3";
/// Compares the key, because a sighting may be that of a member, whose state is not the state of the case.
const NOTE_STATE: &str = "UPDATE cases SET feed_state = $3::text::jsonb, updated_at = coalesce($4, updated_at) \
     WHERE id = $1 AND key = $2";

/// All statements of this module.
pub(super) const STATEMENTS: [&str; 6] = [AGAIN, REPLACE, NOTE, NOTE_STATE, ADD_INDICATORS, REOPEN];

/// The next alert of a case.
pub(super) struct PostgresNextAlert<'a> {
    /// The arrival.
    pub(super) arrival: &'a Arrival,
    /// The alert in the form that is triaged.
    pub(super) alert: &'a Alert,
    /// The id of the stored message.
    pub(super) raw_id: i64,
    /// The reason for the triage.
    pub(super) why: &'static str,
}

/// A change of one case.
pub(super) enum CaseChange {
    /// The case is triaged again.
    Again(NextAlertRow),
    /// The case triages another alert.
    Replace(NextAlertRow),
    /// The state at the feed is recorded.
    State(FeedStateRow),
}

/// The columns of the next alert.
pub(super) struct NextAlertRow {
    id: String,
    raw_id: i64,
    source: String,
    at: DateTime<Utc>,
    why: &'static str,
    alert: String,
    severity: &'static str,
    content: String,
    title: String,
    kind: String,
    updated: Option<DateTime<Utc>>,
    kinds: Vec<&'static str>,
    values: Vec<String>,
    roles: Vec<&'static str>,
}

/// The columns of a state at the feed.
pub(super) struct FeedStateRow {
    id: String,
    key: String,
    state: String,
    updated: Option<DateTime<Utc>>,
}

impl CaseChange {
    /// Creates a change that triages the case again.
    pub(super) fn retriage(
        id: &CaseId,
        coming: PostgresNextAlert<'_>,
    ) -> Result<Self, PostgresFailure> {
        Ok(Self::Again(NextAlertRow::new(id, coming)?))
    }

    /// Creates a change that replaces the waiting alert.
    pub(super) fn replace(
        id: &CaseId,
        coming: PostgresNextAlert<'_>,
    ) -> Result<Self, PostgresFailure> {
        Ok(Self::Replace(NextAlertRow::new(id, coming)?))
    }

    /// Creates a change of the state at the feed.
    pub(super) fn state(id: &CaseId, key: &str, alert: &Alert) -> Result<Self, PostgresFailure> {
        Ok(Self::State(FeedStateRow {
            id: id.0.clone(),
            key: key.to_owned(),
            state: json(&id.0, &alert.state)?,
            updated: alert.times.updated,
        }))
    }

    fn send<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<(), PostgresFailure>> {
        match self {
            Self::Again(next) => next.send_again(session).boxed(),
            Self::Replace(next) => next.send_replace(session).boxed(),
            Self::State(state) => state.send(session).boxed(),
        }
    }
}

impl NextAlertRow {
    fn new(id: &CaseId, coming: PostgresNextAlert<'_>) -> Result<Self, PostgresFailure> {
        let (arrival, alert) = (coming.arrival, coming.alert);
        let owned = |value: &str| text(value).into_owned();
        let indicators = &alert.indicators;
        Ok(Self {
            id: id.0.clone(),
            raw_id: coming.raw_id,
            source: owned(&arrival.source),
            at: arrival.at,
            why: coming.why,
            alert: json(&id.0, alert)?,
            severity: alert.severity.as_str(),
            content: owned(&alert.content.0),
            title: owned(&alert.title),
            kind: owned(&alert.kind),
            updated: alert.times.updated,
            kinds: indicators.iter().map(|one| one.kind.as_str()).collect(),
            values: indicators.iter().map(|one| owned(&one.value)).collect(),
            roles: indicators.iter().map(|one| one.role.as_str()).collect(),
        })
    }

    async fn send_again(&self, session: &Session) -> Result<(), PostgresFailure> {
        let again = async {
            session
                .change(
                    AGAIN,
                    [
                        &self.id,
                        &self.raw_id,
                        &self.source,
                        &self.at,
                        &self.why,
                        &self.alert,
                        &self.severity,
                        &self.content,
                        &self.title,
                        &self.kind,
                    ],
                )
                .await
        };
        tokio::try_join!(biased; again, self.send_note(session))?;
        Ok(())
    }

    async fn send_replace(&self, session: &Session) -> Result<(), PostgresFailure> {
        let replace = async {
            session
                .change(
                    REPLACE,
                    [
                        &self.id,
                        &self.raw_id,
                        &self.source,
                        &self.alert,
                        &self.severity,
                        &self.content,
                        &self.title,
                        &self.kind,
                        &self.why,
                    ],
                )
                .await
        };
        tokio::try_join!(biased; replace, self.send_note(session))?;
        Ok(())
    }

    async fn send_note(&self, session: &Session) -> Result<(), PostgresFailure> {
        let reopen = async {
            // A triage that a person asked for does not mean that a source sent something new.
            if self.why == RevisionReason::Asked.as_str() {
                return Ok(0);
            }
            session.change(REOPEN, [&self.id]).await
        };
        tokio::try_join!(
            biased;
            session.change(NOTE, [&self.id, &self.updated, &self.severity]),
            session.change(ADD_INDICATORS, [&self.kinds, &self.values, &self.id, &self.roles]),
            reopen,
        )?;
        Ok(())
    }
}

impl FeedStateRow {
    async fn send(&self, session: &Session) -> Result<(), PostgresFailure> {
        session
            .change(
                NOTE_STATE,
                [&self.id, &self.key, &self.state, &self.updated],
            )
            .await?;
        Ok(())
    }
}

/// Sends the changes in order, pipelined.
pub(super) async fn send(session: &Session, turns: &[CaseChange]) -> Result<(), PostgresFailure> {
    // `try_join_all` polls such a small number of futures in order: see `MOST_TURNS`.
    try_join_all(turns.iter().map(|turn| turn.send(session))).await?;
    Ok(())
}
