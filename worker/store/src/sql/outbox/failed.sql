-- The failure of an earlier version does not delay a newer one.
UPDATE deliveries SET
    error = $5,
    begun_at = NULL,
    remote_id = coalesce($7, remote_id),
    attempts = CASE WHEN major_version <= $3 THEN $4 ELSE attempts END,
    retry_at = CASE WHEN major_version <= $3 THEN {after_secs} ELSE retry_at END,
    given_up = CASE WHEN major_version <= $3 THEN $6 IS NULL ELSE given_up END
WHERE case_id = $1 AND destination = $2 AND attempts <= $4
