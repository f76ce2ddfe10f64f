//! Stores actions of people on cases, and the posted digests.

use chrono::{DateTime, NaiveDate, Utc};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::case_workflow::{CaseAction, CaseWorkflow};
use nightshift_pipeline::feedback::{FeedbackRecord, PersonVerdict};
use tokio_postgres::Row;

use super::database::Session;
use super::failure::PostgresFailure;
use super::read;
use super::row::{get_revision, get_severity, get_verdict, limit, text, to_verdict};
use crate::case_actions::{CaseActionRow, parse_action_kind};

/// Requests an edit of the posts without a new report. Counts are updated at most once a minute. A pending delivery
/// includes them.
pub(super) const TOUCH: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE clock_timestamp() END, \
         retry_at = CASE WHEN sent_version < wanted_version THEN retry_at ELSE sent_at + interval '60 seconds' END \
     WHERE case_id = ANY($1) AND NOT given_up";
/// Adds an action. The same action again, after a lost answer or a double click, is a duplicate and reverts nothing
/// that happened since.
const ACT: &str = "WITH added AS ( \
         INSERT INTO case_actions (case_id, at, actor, action, detail, muted_until, note) VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT DO NOTHING RETURNING id \
     ), stands AS ( \
         UPDATE cases SET workflow_status = coalesce($8, workflow_status), owner = coalesce($9, owner) \
         WHERE id = $1 AND EXISTS (SELECT FROM added) \
     ), touched AS ( \
         UPDATE deliveries SET wanted_version = wanted_version + 1, \
             requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE clock_timestamp() END, \
             retry_at = CASE WHEN attempts > 0 OR sent_version < major_version THEN retry_at END \
         WHERE case_id = $1 AND NOT given_up AND EXISTS (SELECT FROM added) \
     ) \
     SELECT pg_notify('nightshift-work', '')::text";
/// Reopens a case that people closed or called a false positive, because a source sent something new that the case now
/// waits to triage. The case is also reopened if people closed it before the result of such a triage, and that result
/// is not benign. `$2` is the id of the write that brought the alert, where another write may have happened in between.
/// If it is null, a pending alert must not exist, because that one is checked later.
pub(super) const REOPEN: &str = "WITH reopened AS ( \
         UPDATE cases SET workflow_status = 'open', owner = NULL \
         WHERE id = $1 AND (status = 'queued' AND journal_seq = 0 \
                 AND CASE WHEN $2::uuid IS NULL THEN NOT EXISTS (SELECT FROM pending_revisions WHERE case_id = $1) \
                     ELSE last_write_id = $2 END \
                 OR status IN ('concluded', 'failed') AND last_write_id = $2 \
                 AND coalesce(verdict, '') NOT IN ('benign_true_positive', 'false_positive') \
                 AND EXISTS (SELECT FROM alerts WHERE case_id = $1 AND alerts.revision = cases.revision \
                     AND reason NOT IN ('asked', 'models_back'))) \
             AND (workflow_status = 'closed' OR (SELECT action = 'disagreed' AND detail = 'false_positive' FROM case_actions \
                 WHERE case_id = $1 AND action IN ('agreed', 'disagreed', 'reopened') ORDER BY id DESC LIMIT 1)) \
         RETURNING id, revision \
     ), noted AS ( \
         INSERT INTO case_actions (case_id, at, actor, action) SELECT id, clock_timestamp(), source, 'reopened' \
         FROM reopened JOIN alerts ON case_id = id AND alerts.revision = reopened.revision \
     ) \
     UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE clock_timestamp() END, \
         retry_at = CASE WHEN attempts > 0 OR sent_version < major_version THEN retry_at END \
     FROM reopened WHERE case_id = reopened.id AND NOT given_up";
const ACTS: &str = "SELECT case_id, at, actor, action, detail, muted_until, note FROM case_actions WHERE case_id = ANY($1) ORDER BY id";
const DECIDED: &str = "SELECT v.id, v.case_id, s.key, s.feed, s.type, s.account, s.severity::text, c.verdict, c.status, \
         v.decided_at, v.decided_by, v.revision, v.verdict, v.agreed, v.note \
     FROM person_verdicts v JOIN cases s ON s.id = v.case_id \
     LEFT JOIN conclusions c ON c.case_id = v.case_id AND c.revision = v.revision \
     WHERE v.id > $1 ORDER BY v.id LIMIT $2";
/// Begins a digest. No row means that it was posted, false that it begins, true that it had begun before.
const BEGIN_DIGEST: &str = "INSERT INTO digests AS d (destination, day, begun_at) VALUES ($1, $2, clock_timestamp()) \
     ON CONFLICT (destination, day) DO UPDATE SET begun_at = d.begun_at WHERE d.sent_at IS NULL RETURNING xmax <> 0";
pub(super) const DIGEST_POSTED: &str =
    "UPDATE digests SET sent_at = clock_timestamp() WHERE destination = $1 AND day = $2";

/// Adds an action and returns the case with its workflow.
pub(super) async fn add(
    session: &Session,
    id: &str,
    act: &CaseAction,
) -> Result<(CaseId, CaseWorkflow), PostgresFailure> {
    let case = read::find(session, id).await?;
    note(session, &case.id.0, act).await?;
    let desk = case_workflow(session, &case.id.0).await?;
    Ok((case.id, desk))
}

/// Adds the row of an action and updates the posts of its case.
pub(super) async fn note(
    session: &Session,
    id: &str,
    act: &CaseAction,
) -> Result<(), PostgresFailure> {
    let row = CaseActionRow::from_action(act);
    let about = row.about.as_deref().map(text);
    let owner = row.owner.as_deref().map(text);
    let desk = row.desk.map(|status| status.as_str());
    session
        .row(
            ACT,
            [
                &id,
                &act.at,
                &text(&act.by),
                &row.act,
                &about,
                &row.until,
                &text(&act.note),
                &desk,
                &owner,
            ],
        )
        .await?;
    Ok(())
}

/// Returns the workflow of a case.
pub(super) async fn case_workflow(
    session: &Session,
    id: &str,
) -> Result<CaseWorkflow, PostgresFailure> {
    let mut acts = case_actions(session, &[id]).await?;
    Ok(CaseWorkflow::from_actions(
        acts.pop().map(|(_, acts)| acts).unwrap_or_default(),
    ))
}

/// Returns the actions on these cases, the oldest first.
pub(super) async fn case_actions(
    session: &Session,
    ids: &[&str],
) -> Result<Vec<(String, Vec<CaseAction>)>, PostgresFailure> {
    let mut found: Vec<(String, Vec<CaseAction>)> = Vec::new();
    for row in session.rows(ACTS, [&ids]).await? {
        let id: String = row.try_get(0)?;
        let until: Option<DateTime<Utc>> = row.try_get(5)?;
        let Some(kind) = parse_action_kind(row.try_get(3)?, row.try_get(4)?, until) else {
            continue;
        };
        let act = CaseAction {
            at: row.try_get(1)?,
            by: row.try_get(2)?,
            kind,
            note: row.try_get(6)?,
        };
        match found.iter_mut().find(|(one, _)| *one == id) {
            Some((_, acts)) => acts.push(act),
            None => found.push((id, vec![act])),
        }
    }
    Ok(found)
}

/// Returns the verdicts of people, the oldest first.
pub(super) async fn decided(
    session: &Session,
    after: i64,
    most: usize,
) -> Result<Vec<FeedbackRecord>, PostgresFailure> {
    let rows = session.rows(DECIDED, [&after, &limit(most)]).await?;
    rows.iter().map(to_decided).collect()
}

fn to_decided(row: &Row) -> Result<FeedbackRecord, PostgresFailure> {
    let status: Option<&str> = row.try_get(8)?;
    let verdict: Option<&str> = row.try_get(7)?;
    Ok(FeedbackRecord {
        id: row.try_get(0)?,
        case_id: row.try_get(1)?,
        key: row.try_get(2)?,
        feed: row.try_get(3)?,
        kind: row.try_get(4)?,
        account: row.try_get(5)?,
        severity: get_severity(row, 6)?,
        case_verdict: to_verdict(verdict.filter(|_| status != Some("failed"))),
        person: PersonVerdict {
            at: row.try_get(9)?,
            by: row.try_get(10)?,
            revision: get_revision(row, 11)?,
            verdict: get_verdict(row, 12)?,
            agreed: row.try_get(13)?,
            note: row.try_get(14)?,
        },
    })
}

/// Begins the digest of a day.
pub(super) async fn begin_digest(
    session: &Session,
    destination: &str,
    day: NaiveDate,
) -> Result<Option<bool>, PostgresFailure> {
    let row = session
        .row(BEGIN_DIGEST, [&text(destination), &day])
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
