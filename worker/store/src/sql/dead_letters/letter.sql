SELECT d.id, d.source, d.received_at, d.error, d.size_bytes, d.sha256, d.case_id, d.retried_at, r.bytes, r.blob
FROM dead_letters d
LEFT JOIN raw_messages r ON r.id = d.raw_id
WHERE d.id = $1
