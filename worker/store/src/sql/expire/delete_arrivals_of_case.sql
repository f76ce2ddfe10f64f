DELETE FROM arrivals
WHERE id IN (SELECT arrivals.id FROM arrivals WHERE case_id = $1 LIMIT $2)
RETURNING raw_id
