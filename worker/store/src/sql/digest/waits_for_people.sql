-- Matches cases that wait for people. An index covers all but the last condition. A verdict remains valid while its
-- case runs again, and after that run is cancelled. A case that people called a false positive waits for nobody. As for
-- tickets, the last of the three actions counts.
workflow_status <> 'closed' AND feed <> 'canary'
    AND (status = 'failed' OR verdict IN ('true_positive', 'inconclusive'))
    AND NOT coalesce((
        SELECT max(case_actions.id) FILTER (WHERE action = 'disagreed' AND detail = 'false_positive')
            = max(case_actions.id)
        FROM case_actions
        WHERE case_actions.case_id = cases.id AND action IN ('agreed', 'disagreed', 'reopened')
    ), false)
