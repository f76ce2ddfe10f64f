-- Records an attempt whose result is unknown since this time.
UPDATE deliveries SET
    error = $5,
    begun_at = {unknown_since},
    remote_id = coalesce($7, remote_id),
    attempts = CASE WHEN major_version <= $3 THEN $4 ELSE attempts END,
    retry_at = CASE WHEN major_version <= $3 THEN {after_secs} ELSE retry_at END
WHERE case_id = $1 AND destination = $2 AND attempts <= $4
