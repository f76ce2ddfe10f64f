//! Reopens cases, and requests edits of their posts.

use rusqlite::{Connection, OptionalExtension};

use super::thread::SqliteFailure;

/// Requests an edit of the posts for new counts, at most once a minute. A pending delivery includes them.
const TOUCH: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') END, \
         retry_at = CASE WHEN sent_version < wanted_version THEN retry_at ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', sent_at, '+60 seconds') END \
     WHERE case_id = ?1 AND given_up = 0";
const TOUCH_NOW: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') END, \
         retry_at = CASE WHEN attempts > 0 OR sent_version < major_version THEN retry_at END \
     WHERE case_id = ?1 AND given_up = 0";
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
/// Updates destinations that show the case as running. A shown report remains.
const TELL: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, major_version = wanted_version + 1, attempts = 0, retry_at = NULL, \
         requested_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now') \
     WHERE case_id = ?1 AND given_up = 0 \
         AND (SELECT status FROM cases WHERE id = ?1) = 'cancelled' \
         AND NOT EXISTS (SELECT 1 FROM conclusions WHERE case_id = ?1)";

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
