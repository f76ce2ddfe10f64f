DELETE FROM pending_revisions
WHERE case_id = $1 AND seq = $2
