INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert)
SELECT case_id, cases.revision, raw_id, source, received_at, reason, alert FROM pending_revisions
JOIN cases ON cases.id = case_id
WHERE case_id = $1 AND seq = $2
