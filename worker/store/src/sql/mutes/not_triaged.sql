-- Reads a page of alerts of any outcome, so that a page is a fixed number of alerts, and the work does not depend on
-- how many match. The parameters are those of the triaged alerts; $3, which is a case there, is not used.
SELECT
    outcome AS name,
    CASE WHEN outcome IN ('member', 'muted') THEN alert END AS alert,
    received_at,
    '' AS case_id,
    id AS number
FROM arrivals
WHERE received_at >= $1 AND (received_at, id) < ($2, $4)
ORDER BY received_at DESC, id DESC
LIMIT $5
