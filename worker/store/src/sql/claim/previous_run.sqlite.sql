SELECT
    json_object(
        'revision', before.revision,
        'failed', json(CASE before.report ->> 'status' WHEN 'failed' THEN 'true' ELSE 'false' END),
        'verdict', before.verdict, 'leaning', before.leaning, 'severity', before.report ->> 'assessed_severity',
        'urgency', before.report ->> 'urgency', 'why', now.reason
    ) AS previous_run,
    last.alert
FROM alerts AS now
JOIN conclusions AS before ON before.case_id = now.case_id AND before.revision < now.revision
LEFT JOIN alerts AS last ON last.case_id = before.case_id AND last.revision = before.revision
WHERE now.case_id = $1 AND now.revision = $2
ORDER BY before.revision DESC
LIMIT 1
