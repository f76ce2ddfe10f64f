workflow_status = 'open'
    AND (status IN ('queued', 'running', 'failed') OR verdict IN ('true_positive', 'inconclusive'))
    AND {shown_severity} >= {high}
