SELECT id FROM cases
WHERE id = $1 AND last_write_id = CAST($2 AS uuid)
