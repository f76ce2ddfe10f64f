-- No retry asks for these ids of batches any more.
DELETE FROM batches
WHERE id = ANY(ARRAY(
    SELECT id FROM batches
    WHERE accepted_at < now() - interval '1 day'
    ORDER BY accepted_at
    LIMIT $1
))
