-- Begins an attempt only if the row is as it was read, so a worker that was frozen in between sends nothing. Later
-- counts are sent along.
UPDATE deliveries SET attempts = attempts + 1, begun_at = {now}
WHERE case_id = $1 AND destination = $2 AND NOT given_up
    AND wanted_version >= $3 AND major_version <= $3 AND sent_version < $3
    AND attempts = $4 AND (begun_at IS NOT NULL) = $5
