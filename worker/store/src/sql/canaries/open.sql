-- A delivery that was skipped because it was too late has no remote id.
SELECT cases.id, min(deliveries.sent_at) AS sent_at FROM cases
JOIN deliveries ON deliveries.case_id = cases.id
WHERE {is_canary} AND cases.workflow_status = 'open'
    AND deliveries.sent_version > 0 AND deliveries.remote_id IS NOT NULL AND deliveries.sent_at IS NOT NULL
GROUP BY cases.id
ORDER BY cases.opened_at DESC
LIMIT $1
