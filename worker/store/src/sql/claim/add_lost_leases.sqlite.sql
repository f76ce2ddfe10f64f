INSERT OR IGNORE INTO lost_leases (case_id, epoch, revision)
SELECT id, epoch, revision FROM cases
WHERE status = 'running' AND lease_holder IS $1 AND coalesce(lease_until, 0) NOT BETWEEN $2 AND $3
