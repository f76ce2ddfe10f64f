-- Updates destinations that show the case as running. A shown report remains.
UPDATE deliveries SET
    wanted_version = wanted_version + 1, major_version = wanted_version + 1, requested_at = {now}, attempts = 0,
    retry_at = NULL
WHERE case_id = $1 AND NOT given_up
    AND (SELECT status FROM cases WHERE id = $1) = 'cancelled'
    AND NOT EXISTS (SELECT 1 FROM conclusions WHERE case_id = $1)
