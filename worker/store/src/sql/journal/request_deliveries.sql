INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at)
SELECT DISTINCT $1, names.value, 1, 1, $3 FROM {names}
WHERE true
ON CONFLICT (case_id, destination) DO UPDATE SET
    wanted_version = deliveries.wanted_version + 1, major_version = deliveries.wanted_version + 1, requested_at = $3,
    attempts = 0, retry_at = NULL, given_up = false, error = NULL, instead_of = NULL
