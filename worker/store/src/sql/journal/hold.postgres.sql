-- Locks the case if the lease is valid and this is not the repetition of a write. The lease is judged by
-- `clock_timestamp` and not by `now`, because this statement may have waited for the lock.
UPDATE cases SET last_write_id = CAST($4 AS uuid), journal_seq = journal_seq + $5
WHERE id = $1 AND revision = $2 AND epoch = $3 AND status = 'running' AND lease_until > clock_timestamp()
    AND last_write_id IS DISTINCT FROM CAST($4 AS uuid)
RETURNING id
