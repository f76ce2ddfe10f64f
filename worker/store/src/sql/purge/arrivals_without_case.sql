SELECT id, raw_id, case_id, dead_letter_id FROM arrivals {by_index}
WHERE case_id IS NULL AND received_at < $1
ORDER BY received_at
LIMIT $2
