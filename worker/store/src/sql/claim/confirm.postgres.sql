-- Selects the cases that a claim with a lost answer took. The statement waits for that claim if it is still running: it
-- locks the rows before it reads what such a claim changes.
WITH held AS MATERIALIZED (
    SELECT id, epoch, status, lease_holder FROM cases
    WHERE id = ANY($1::text[])
    ORDER BY id
    FOR NO KEY UPDATE
)
SELECT held.id FROM held
JOIN unnest($1::text[], $2::bigint[]) AS taken (id, taken_epoch) ON held.id = taken.id AND held.epoch = taken_epoch
WHERE held.status = 'running' AND held.lease_holder = $3
ORDER BY held.id
