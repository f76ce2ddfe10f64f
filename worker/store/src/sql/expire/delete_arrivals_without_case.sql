DELETE FROM arrivals
WHERE id IN (
    SELECT id FROM arrivals {by_index}
    WHERE case_id IS NULL AND received_at < $1
    ORDER BY received_at
    LIMIT $2
)
RETURNING raw_id
