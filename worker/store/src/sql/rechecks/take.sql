WITH due AS (
    SELECT id FROM cases
    WHERE status = 'concluded' AND recheck_at <= $1
    ORDER BY recheck_at
    LIMIT $3
    {lock_to_update}
)
UPDATE cases SET recheck_at = $2
WHERE id IN (SELECT id FROM due)
RETURNING id, revision, logs_complete_until, events_until
