UPDATE cases SET
    status = $2, verdict = $3, leaning = $4, assessed_severity = CAST(CAST($5 AS text) AS severity), concluded_at = $6,
    needs_model = $7, recheck_at = $8, logs_complete_until = NULL, crashes = 0, lease_holder = NULL, lease_until = NULL
WHERE id = $1
