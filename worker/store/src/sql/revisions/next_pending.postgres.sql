SELECT seq, received_at, reason, CAST(severity AS text) AS severity, content, title, type FROM pending_revisions
WHERE case_id = $1
ORDER BY seq
LIMIT 1
