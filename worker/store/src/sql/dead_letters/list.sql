SELECT id, source, received_at, error, size_bytes, sha256, case_id, retried_at
FROM dead_letters
ORDER BY id DESC
LIMIT $1
