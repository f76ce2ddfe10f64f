-- Finds the last canary that arrived. A failed canary is shown and removed too, but proves nothing, because its triage
-- did not end normally. The query reads the index of storms from its end, and not all canaries. Times of cases and
-- actions come from clocks that may have been ahead.
SELECT case_actions.at FROM cases
JOIN case_actions ON case_actions.case_id = cases.id
WHERE {is_canary} AND cases.status = 'concluded' AND cases.opened_at <= {now}
    AND case_actions.action = 'closed' AND case_actions.actor = $1 AND case_actions.at <= {now}
ORDER BY cases.opened_at DESC
LIMIT 1
