SELECT
    jsonb_build_object(
        'revision', before.revision, 'failed', before.status = 'failed', 'verdict', before.verdict,
        'leaning', before.leaning, 'severity', before.assessed_severity, 'urgency', before.report -> 'urgency',
        'why', now.reason
    ) AS previous_run,
    last.alert
FROM alerts AS now
JOIN conclusions AS before ON before.case_id = now.case_id AND before.revision < now.revision
LEFT JOIN alerts AS last ON last.case_id = before.case_id AND last.revision = before.revision
WHERE now.case_id = $1 AND now.revision = $2
ORDER BY before.revision DESC
LIMIT 1
