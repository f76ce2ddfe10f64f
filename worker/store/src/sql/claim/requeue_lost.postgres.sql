-- Requeues running cases with an expired lease. Each counts as crashed, unless the database restarted since its last
-- renewal, when no worker could renew it.
WITH ended AS (
    UPDATE cases SET
        status = 'queued', lease_holder = NULL, lease_until = NULL, waiting_since = clock_timestamp(),
        crashes = crashes + CASE WHEN leased_at < pg_postmaster_start_time() THEN 0 ELSE 1 END
    WHERE id IN (
        SELECT id FROM cases
        WHERE status = 'running' AND lease_until < clock_timestamp()
        ORDER BY id
        FOR UPDATE SKIP LOCKED
    )
    RETURNING id, revision, epoch, (leased_at < pg_postmaster_start_time()) IS NOT TRUE AS has_crashed
), noted AS (
    INSERT INTO lost_leases (case_id, epoch, revision)
    SELECT id, epoch, revision FROM ended WHERE has_crashed
    ON CONFLICT DO NOTHING
)
SELECT FROM ended
