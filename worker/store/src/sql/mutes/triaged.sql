-- Reads a page of triaged alerts, the newest first, so that a preview never holds all of history, and claims and
-- renewals can run in between. $2 to $4 are the last row of the previous page.
SELECT case_id AS name, alert, received_at, case_id, revision AS number
FROM alerts
WHERE received_at >= $1 AND (received_at, case_id, revision) < ($2, $3, $4)
ORDER BY received_at DESC, case_id DESC, revision DESC
LIMIT $5
