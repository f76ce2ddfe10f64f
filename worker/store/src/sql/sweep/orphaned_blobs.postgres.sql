-- Skips blobs that an open transaction is about to refer to.
SELECT key FROM orphaned_blobs
WHERE since < clock_timestamp() - interval '1 hour'
ORDER BY since
LIMIT $1
FOR UPDATE SKIP LOCKED
