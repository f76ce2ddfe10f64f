//! Reopens cases, and requests edits of their posts.

/// Requests an edit of the posts without a new report. Counts are updated at most once a minute. A pending delivery
/// includes them.
pub(super) const TOUCH: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE clock_timestamp() END, \
         retry_at = CASE WHEN sent_version < wanted_version THEN retry_at ELSE sent_at + interval '60 seconds' END \
     WHERE case_id = ANY($1) AND NOT given_up";
/// Reopens a case that people closed or called a false positive, because a source sent something new that the case now
/// waits to triage. A pending alert must not exist, because that one is checked when its triage begins.
pub(super) const REOPEN: &str = "WITH reopened AS ( \
         UPDATE cases SET workflow_status = 'open', owner = NULL \
         WHERE id = $1 AND status = 'queued' AND journal_seq = 0 \
             AND NOT EXISTS (SELECT FROM pending_revisions WHERE case_id = $1) \
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
