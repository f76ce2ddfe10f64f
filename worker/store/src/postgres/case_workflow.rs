//! Reopens cases, and requests edits of their posts.

/// Requests an edit of the posts without a new report. Counts are updated at most once a minute. A pending delivery
/// includes them.
pub(super) const TOUCH: &str = "UPDATE deliveries SET wanted_version = wanted_version + 1, \
         requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE clock_timestamp() END, \
         retry_at = CASE WHEN sent_version < wanted_version THEN retry_at ELSE sent_at + interval '60 seconds' END \
     WHERE case_id = ANY($1) AND NOT given_up";
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
