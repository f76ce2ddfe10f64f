-- Adds the indicators of a pending alert. Ones that exist already or lack a part are ignored.
INSERT OR IGNORE INTO indicators (type, value, case_id, role, noted_at)
SELECT one.value ->> 'type', one.value ->> 'value', case_id, one.value ->> 'role', received_at
FROM pending_revisions
JOIN json_each(alert, '$.indicators') AS one
WHERE case_id = $1 AND seq = $2 AND one.type = 'object'
