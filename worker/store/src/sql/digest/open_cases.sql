-- The most severe and oldest come first, as in the index.
SELECT
    id, title, verdict, status = 'failed' OR {leftover} AS is_without_verdict,
    CAST(coalesce(assessed_severity, severity) AS text) AS severity, opened_at, owner
FROM cases
WHERE {waits_for_people}
ORDER BY coalesce(assessed_severity, cases.severity) DESC, opened_at
LIMIT $1
