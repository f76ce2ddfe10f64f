UPDATE cases SET last_write_id = CAST($2 AS uuid)
WHERE id = $1 AND last_write_id IS DISTINCT FROM CAST($2 AS uuid)
