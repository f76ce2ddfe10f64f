SELECT
    destination, wanted_version, sent_version, attempts, error, given_up, begun_at IS NOT NULL AS in_doubt, remote_id,
    shown
FROM deliveries
WHERE case_id = $1
ORDER BY destination
