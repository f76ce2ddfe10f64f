SELECT case_id FROM deliveries
WHERE destination = $1 AND {is_undelivered}
ORDER BY requested_at, case_id
LIMIT $2
