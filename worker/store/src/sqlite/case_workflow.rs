//! Reopens cases, and requests edits of their posts.

use rusqlite::Connection;

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
const REOPENED: &str = "INSERT INTO case_actions (case_id, at, actor, action) \
     VALUES (?1, strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'), ?2, 'reopened')";
/// Reopens a case if people had finished with it, because a source sent something new that is triaged now.
pub(super) fn reopen(connection: &Connection, id: &str, source: &str) -> Result<(), SqliteFailure> {
    if connection.prepare_cached(REOPEN)?.execute([id])? > 0 {
        connection.prepare_cached(REOPENED)?.execute([id, source])?;
        connection.prepare_cached(TOUCH_NOW)?.execute([id])?;
    }
    Ok(())
}

/// Requests an edit of the posts, because the counts of the case grew.
pub(super) fn touch(connection: &Connection, id: &str) -> Result<(), SqliteFailure> {
    connection.prepare_cached(TOUCH)?.execute([id])?;
    Ok(())
}
