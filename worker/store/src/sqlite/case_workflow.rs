//! Stores actions of people on cases, and the posted digests.

use chrono::NaiveDate;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::case_workflow::{CaseAction, CaseWorkflow};
use nightshift_pipeline::feedback::{FeedbackRecord, PersonVerdict};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::read;
use super::row::{get_severity, get_time, get_time_or_none, get_verdict, time, to_verdict};
use super::thread::SqliteFailure;
use crate::case_actions::{CaseActionRow, parse_action_kind};

/// Requests an edit of the posts for new counts, at most once a minute. A pending delivery includes them.
const TOUCH: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') END, \
         retry_at = CASE WHEN sent_version < wanted_version THEN retry_at ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', sent_at, '+60 seconds') END \
     WHERE case_id = ?1 AND given_up = 0";
const TOUCH_NOW: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') END, \
         retry_at = CASE WHEN attempts > 0 OR sent_version < major_version THEN retry_at END \
     WHERE case_id = ?1 AND given_up = 0";
/// Adds an action. The same action again is a duplicate and reverts nothing that happened since.
const ACT: &str = "INSERT OR IGNORE INTO case_actions (case_id, at, actor, action, detail, muted_until, note) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const STANDS: &str = "UPDATE cases SET workflow_status = coalesce(?2, workflow_status), owner = coalesce(?3, owner) WHERE id = ?1";
/// Reopens a case that people closed or called a false positive, because they had not seen the alert that the case now
/// waits to triage.
const REOPEN: &str = "UPDATE cases SET workflow_status = 'open', owner = NULL WHERE id = ?1 \
     AND (workflow_status = 'closed' OR (SELECT action = 'disagreed' AND detail = 'false_positive' FROM case_actions \
         WHERE case_id = ?1 AND action IN ('agreed', 'disagreed', 'reopened') ORDER BY id DESC LIMIT 1))";
/// Selects the source of the alert of a case whose triage ended, if the alert came from a source and the result is not
/// benign.
const UNSEEN: &str = "SELECT source FROM cases JOIN alerts ON case_id = id AND alerts.revision = cases.revision \
     WHERE id = ?1 AND status IN ('concluded', 'failed') AND reason NOT IN ('asked', 'models_back') \
         AND coalesce(verdict, '') NOT IN ('benign_true_positive', 'false_positive')";
const REOPENED: &str = "INSERT INTO case_actions (case_id, at, actor, action) \
     VALUES (?1, strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'), ?2, 'reopened')";
const ACTS: &str = "SELECT at, actor, action, detail, muted_until, note FROM case_actions WHERE case_id = ?1 ORDER BY id";
const DECIDED: &str = "SELECT v.id, v.case_id, s.key, s.feed, s.type, s.account, s.severity, c.verdict, \
         json_extract(c.report, '$.status'), v.decided_at, v.decided_by, v.revision, v.verdict, v.agreed, v.note \
     FROM person_verdicts v JOIN cases s ON s.id = v.case_id \
     LEFT JOIN conclusions c ON c.case_id = v.case_id AND c.revision = v.revision \
     WHERE v.id > ?1 ORDER BY v.id LIMIT ?2";
const DIGEST: &str = "SELECT sent_at IS NOT NULL FROM digests WHERE destination = ?1 AND day = ?2";
const BEGIN_DIGEST: &str = "INSERT INTO digests (destination, day, begun_at) \
     VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'))";
pub(super) const DIGEST_POSTED: &str = "UPDATE digests SET sent_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
     WHERE destination = ?1 AND day = ?2";
/// Updates destinations that show the case as running. A shown report remains.
const TELL: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, major_version = wanted_version + 1, attempts = 0, retry_at = NULL, \
         requested_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
     WHERE case_id = ?1 AND given_up = 0 \
         AND (SELECT status FROM cases WHERE id = ?1) = 'cancelled' \
         AND NOT EXISTS (SELECT 1 FROM conclusions WHERE case_id = ?1)";

/// Adds an action and returns the case with its workflow.
pub(super) fn add(
    connection: &Connection,
    id: &str,
    act: &CaseAction,
) -> Result<(CaseId, CaseWorkflow), SqliteFailure> {
    let case = read::find(connection, id)?;
    note(connection, &case.id.0, act)?;
    let desk = CaseWorkflow::from_actions(case_actions(connection, &case.id.0)?);
    Ok((case.id, desk))
}

/// Adds the row of an action and updates the posts of its case.
pub(super) fn note(
    connection: &Connection,
    id: &str,
    act: &CaseAction,
) -> Result<(), SqliteFailure> {
    let row = CaseActionRow::from_action(act);
    let added = connection.prepare_cached(ACT)?.execute(params![
        id,
        time(act.at),
        act.by,
        row.act,
        row.about,
        row.until.map(time),
        act.note
    ])?;
    if added == 0 {
        return Ok(());
    }
    let desk = row.desk.map(|status| status.as_str());
    connection
        .prepare_cached(STANDS)?
        .execute(params![id, desk, row.owner])?;
    connection.prepare_cached(TOUCH_NOW)?.execute([id])?;
    Ok(())
}

/// Reopens a case if people had finished with it, because a source sent something new that is triaged now.
pub(super) fn reopen(connection: &Connection, id: &str, source: &str) -> Result<(), SqliteFailure> {
    if connection.prepare_cached(REOPEN)?.execute([id])? > 0 {
        connection.prepare_cached(REOPENED)?.execute([id, source])?;
        connection.prepare_cached(TOUCH_NOW)?.execute([id])?;
    }
    Ok(())
}

/// Reopens a case after the triage of an alert from a source ended and is not benign. People who had finished with the
/// case before did not know that result.
pub(super) fn reopen_unseen(connection: &Connection, id: &str) -> Result<(), SqliteFailure> {
    let source: Option<String> = connection
        .prepare_cached(UNSEEN)?
        .query_row([id], |row| row.get(0))
        .optional()?;
    source.map_or(Ok(()), |source| reopen(connection, id, &source))
}

/// Requests an edit of the posts, because the counts of the case grew.
pub(super) fn touch(connection: &Connection, id: &str) -> Result<(), SqliteFailure> {
    connection.prepare_cached(TOUCH)?.execute([id])?;
    Ok(())
}

/// Updates the posts of a cancelled case.
pub(super) fn mark_cancelled(connection: &Connection, id: &str) -> Result<(), SqliteFailure> {
    connection.prepare_cached(TELL)?.execute([id])?;
    Ok(())
}

/// Returns the actions on a case, the oldest first.
pub(super) fn case_actions(
    connection: &Connection,
    id: &str,
) -> Result<Vec<CaseAction>, SqliteFailure> {
    let mut statement = connection.prepare_cached(ACTS)?;
    let mut rows = statement.query([id])?;
    let mut acts = Vec::new();
    while let Some(row) = rows.next()? {
        let act: String = row.get(2)?;
        let Some(kind) = parse_action_kind(&act, row.get(3)?, get_time_or_none(row, 4)?) else {
            continue;
        };
        acts.push(CaseAction {
            at: get_time(row, 0)?,
            by: row.get(1)?,
            kind,
            note: row.get(5)?,
        });
    }
    Ok(acts)
}

/// Returns the verdicts of people, the oldest first.
pub(super) fn decided(
    connection: &Connection,
    after: i64,
    most: usize,
) -> Result<Vec<FeedbackRecord>, SqliteFailure> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(DECIDED)?;
    let rows = statement.query_map(params![after, most], to_decided)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn to_decided(row: &Row<'_>) -> Result<FeedbackRecord, rusqlite::Error> {
    let (verdict, status): (Option<String>, Option<String>) = (row.get(7)?, row.get(8)?);
    let verdict = verdict.filter(|_| status.as_deref() != Some("failed"));
    Ok(FeedbackRecord {
        id: row.get(0)?,
        case_id: row.get(1)?,
        key: row.get(2)?,
        feed: row.get(3)?,
        kind: row.get(4)?,
        account: row.get(5)?,
        severity: get_severity(row, 6)?,
        case_verdict: to_verdict(verdict.as_deref()),
        person: PersonVerdict {
            at: get_time(row, 9)?,
            by: row.get(10)?,
            revision: row.get(11)?,
            verdict: get_verdict(row, 12)?,
            agreed: row.get(13)?,
            note: row.get(14)?,
        },
    })
}

/// Begins the digest of a day. Returns `None` if it was posted, and true if it had begun before.
pub(super) fn begin_digest(
    connection: &Connection,
    destination: &str,
    day: NaiveDate,
) -> Result<Option<bool>, SqliteFailure> {
    let key = params![destination, day.to_string()];
    let posted: Option<bool> = connection
        .prepare_cached(DIGEST)?
        .query_row(key, |row| row.get(0))
        .optional()?;
    if posted.is_none() {
        connection.prepare_cached(BEGIN_DIGEST)?.execute(key)?;
    }
    Ok(match posted {
        Some(true) => None,
        Some(false) => Some(true),
        None => Some(false),
    })
}
