-- Leaves a report to workers of the version that wrote it.
UPDATE deliveries SET error = $3, retry_at = {in_a_minute}
WHERE case_id = $1 AND destination = $2
