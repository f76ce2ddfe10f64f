DELETE FROM dead_letters
WHERE id IN (
    SELECT id FROM dead_letters
    WHERE received_at < $1
    ORDER BY received_at
    LIMIT $2
)
RETURNING raw_id
