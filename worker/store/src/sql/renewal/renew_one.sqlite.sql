UPDATE cases SET lease_until = $4
WHERE id = $1 AND epoch = $2 AND lease_holder = $3 AND status = 'running' AND lease_until >= $5
