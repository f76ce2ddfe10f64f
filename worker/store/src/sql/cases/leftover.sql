-- Matches cases whose verdict is not valid: the last triage failed, and the case is triaged again or that run was
-- cancelled.
(status IN ('queued', 'running', 'cancelled') AND coalesce((
    SELECT {conclusion_status} = 'failed' FROM conclusions
    WHERE conclusions.case_id = cases.id
    ORDER BY conclusions.revision DESC
    LIMIT 1
), false))
