-- Requests a delivery, again if the last one showed or could show an earlier report only.
INSERT INTO deliveries (case_id, destination, wanted_version, major_version, requested_at, instead_of)
SELECT id, $2, 1, 1, {now}, $3 FROM cases
WHERE id = $1
ON CONFLICT (case_id, destination) DO UPDATE SET
    wanted_version = deliveries.wanted_version + 1,
    major_version = deliveries.wanted_version + 1,
    requested_at = excluded.requested_at,
    attempts = 0,
    retry_at = NULL,
    given_up = false
WHERE deliveries.sent_version >= deliveries.major_version
        AND coalesce(
            CAST(deliveries.shown ->> 'revision' AS bigint)
                < (SELECT max(revision) FROM conclusions WHERE case_id = $1),
            true
        )
    OR deliveries.given_up
        AND deliveries.requested_at < (SELECT max(concluded_at) FROM conclusions WHERE case_id = $1)
