-- Skips locked rows, so that they do not block the others. Returns the leases that were not renewed.
WITH ours AS (
    SELECT cases.id FROM cases
    JOIN unnest($1, $2) AS lease (id, leased_epoch) ON cases.id = lease.id AND epoch = leased_epoch
    WHERE status = 'running' AND lease_until > clock_timestamp()
    FOR NO KEY UPDATE OF cases SKIP LOCKED
), renewed AS (
    UPDATE cases SET leased_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => $3)
    FROM ours
    WHERE cases.id = ours.id
    RETURNING cases.id
)
SELECT
    lease.id,
    NOT EXISTS (
        SELECT FROM cases
        WHERE cases.id = lease.id AND epoch = leased_epoch AND status = 'running' AND lease_until > clock_timestamp()
    ) AS is_lost
FROM unnest($1, $2) AS lease (id, leased_epoch)
WHERE NOT EXISTS (SELECT FROM renewed WHERE renewed.id = lease.id)
