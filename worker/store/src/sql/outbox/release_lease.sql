DELETE FROM destination_leases
WHERE destination = $1 AND holder = $2
