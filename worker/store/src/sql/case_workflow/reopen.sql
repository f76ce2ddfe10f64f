-- Reopens a case that people closed or called a false positive.
UPDATE cases SET workflow_status = 'open', owner = NULL
WHERE id = $1
    AND (workflow_status = 'closed' OR (
        SELECT action = 'disagreed' AND detail = 'false_positive' FROM case_actions
        WHERE case_id = $1 AND action IN ('agreed', 'disagreed', 'reopened')
        ORDER BY id DESC
        LIMIT 1
    ))
