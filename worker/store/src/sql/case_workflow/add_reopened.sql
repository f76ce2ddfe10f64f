INSERT INTO case_actions (case_id, at, actor, action)
SELECT case_id, {now}, source, 'reopened' FROM cases
JOIN alerts ON case_id = cases.id AND alerts.revision = cases.revision
WHERE cases.id = $1
