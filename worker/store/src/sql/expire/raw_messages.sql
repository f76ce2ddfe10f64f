-- Examines the messages after ($2, $3). Those of dead letters are kept for longer, and may be millions: each is looked up
-- by its index, where the planner of PostgreSQL could read them all for EXISTS.
SELECT received_at, id, (SELECT true FROM dead_letters WHERE raw_id = raw.id LIMIT 1) IS NOT NULL AS is_kept
FROM raw_messages AS raw
WHERE received_at < $1 AND received_at >= $2 AND (received_at, id) > ($2, $3)
ORDER BY received_at, id
LIMIT $4
