INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at)
SELECT cases.id, names.value, 1, 1, {now} FROM cases
CROSS JOIN {names}
WHERE cases.id = $1
ON CONFLICT DO NOTHING
