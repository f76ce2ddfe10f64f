SELECT
    seq, received_at, reason, alert ->> 'severity' AS severity, alert ->> 'content' AS content,
    alert ->> 'title' AS title, alert ->> 'type' AS type
FROM pending_revisions
WHERE case_id = $1
ORDER BY seq
LIMIT 1
