SELECT id, case_id FROM arrivals
WHERE account = $1 AND ($2 IS NULL OR received_at < $2)
ORDER BY id
LIMIT $3
