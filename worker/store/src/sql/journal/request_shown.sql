-- Requests a delivery to each other destination that shows the case or may show it, so that its readers learn the
-- result. A delivery that a person gave up while its send was ambiguous belongs to a removed destination.
UPDATE deliveries SET
    wanted_version = wanted_version + 1, major_version = wanted_version + 1, requested_at = $3, attempts = 0,
    retry_at = NULL, given_up = false, error = NULL, instead_of = NULL
WHERE case_id = $2 AND (shown IS NOT NULL OR begun_at IS NOT NULL AND NOT given_up) AND NOT destination {in_list}
