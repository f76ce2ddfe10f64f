SELECT id FROM cases
WHERE id = $1 AND revision = $2 AND epoch = $3 AND lease_holder = $6 AND status = 'running' AND lease_until >= $7
