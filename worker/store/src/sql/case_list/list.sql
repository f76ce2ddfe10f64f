-- The last conditions repeat some of the filter as constants. The types of indicators ($14) are for SQLite only.
SELECT {columns} FROM cases
WHERE ($1 IS NULL OR status = $1)
    AND ($2 IS NULL OR verdict = $2 AND NOT {leftover})
    AND ($3 IS NULL OR {shown_severity} >= CAST(CAST($3 AS text) AS severity))
    AND CASE WHEN $4 IS NULL THEN feed <> 'canary' ELSE feed = $4 END
    AND ($6 IS NULL OR account = $6)
    AND ($7 IS NULL OR {contains_text} OR id IN ({names_value}))
    AND ($8 IS NULL OR opened_at <= (SELECT opened_at FROM cases WHERE id = $8))
    AND ($8 IS NULL OR opened_at < (SELECT opened_at FROM cases WHERE id = $8) OR id > $8)
    AND ($9 IS NULL OR workflow_status = $9)
    AND (NOT $10 OR {person_verdict} IS NOT NULL)
    AND (NOT $11 OR NOT {is_sample})
    {constants}
ORDER BY opened_at DESC, id
LIMIT $5
