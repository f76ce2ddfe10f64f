INSERT INTO destination_leases (destination, holder, lease_until)
VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
ON CONFLICT (destination) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
WHERE destination_leases.holder = excluded.holder OR destination_leases.lease_until < clock_timestamp()
