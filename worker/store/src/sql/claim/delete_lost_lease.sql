DELETE FROM lost_leases
WHERE case_id = $1 AND epoch = $2
RETURNING revision
