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
(
    SELECT theirs.detail FROM case_actions AS theirs
    WHERE theirs.case_id = cases.id AND theirs.action = 'disagreed' AND theirs.detail IS DISTINCT FROM cases.verdict
        AND NOT EXISTS (
            SELECT 1 FROM case_actions AS later
            WHERE later.case_id = theirs.case_id AND later.id > theirs.id AND later.action IN ('agreed', 'disagreed')
        )
    ORDER BY theirs.id DESC
    LIMIT 1
) AS person_verdict
