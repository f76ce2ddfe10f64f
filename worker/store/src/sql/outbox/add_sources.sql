-- Adds the failed destinations to a delivery that happens anyway. It gets its own version, because the previous one may
-- be in flight.
UPDATE deliveries SET wanted_version = wanted_version + 1, instead_of = {merged}
WHERE case_id = $1 AND destination = $2 AND NOT given_up AND instead_of IS DISTINCT FROM {merged}
