-- The columns of a case in a list.
id, revision, status, feed, key, type, title, account, CAST(severity AS text) AS severity,
CAST(assessed_severity AS text) AS assessed_severity,
CASE WHEN {leftover} THEN NULL ELSE verdict END AS verdict,
leaning, opened_at, concluded_at, sightings, usd, members, workflow_status, owner,
(
    SELECT coalesce(alert -> 'resources' -> 0 ->> 'name', alert -> 'resources' -> 0 ->> 'id') FROM alerts
    WHERE alerts.case_id = cases.id AND alerts.revision = cases.revision
) AS subject,
(
    SELECT report ->> 'urgency' FROM conclusions
    WHERE conclusions.case_id = cases.id
    ORDER BY conclusions.revision DESC
    LIMIT 1
) AS urgency,
{person_verdict} AS person_verdict
