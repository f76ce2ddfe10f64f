-- Requests an edit of the posts without a new report. A pending delivery includes it.
UPDATE deliveries SET
    wanted_version = wanted_version + 1,
    requested_at = CASE WHEN sent_version < wanted_version THEN requested_at ELSE {now} END,
    retry_at = CASE WHEN attempts > 0 OR sent_version < major_version THEN retry_at END
WHERE case_id = $1 AND NOT given_up
