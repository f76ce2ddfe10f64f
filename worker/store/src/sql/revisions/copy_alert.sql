INSERT INTO alerts (case_id, revision, raw_id, source, received_at, reason, alert)
SELECT case_id, cases.revision, raw_id, source, received_at, $2, alert FROM cases
JOIN alerts ON case_id = cases.id AND alerts.revision = cases.revision - 1
WHERE cases.id = $1
