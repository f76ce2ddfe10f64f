-- Selects cases with the same key, or with one of the values of $4 (types) and $5 (values), and which of these they
-- have. Reports are large: they are read for the returned rows only.
WITH alike AS (
    SELECT id, json_group_array(number) FILTER (WHERE number IS NOT NULL) AS numbers
    FROM (
        SELECT id, NULL AS number
        FROM (SELECT id FROM cases WHERE key = $1 AND id <> $2 ORDER BY opened_at DESC LIMIT $3)
        UNION ALL
        SELECT found.value, wanted.key
        FROM json_each($5) AS wanted
        JOIN json_each((
            SELECT json_group_array(case_id) FROM (
                SELECT case_id FROM indicators
                WHERE type = $4 ->> wanted.key AND indicators.value = wanted.value
                    AND case_id <> $2 AND role <> 'related'
                ORDER BY noted_at DESC
                LIMIT $6
            )
        )) AS found
    )
    GROUP BY id
),
newest AS MATERIALIZED (
    SELECT
        cases.id, key, type, account, opened_at, severity, status,
        CASE WHEN status <> 'failed' AND NOT {leftover} THEN verdict END AS verdict,
        numbers
    FROM alike
    JOIN cases ON cases.id = alike.id
    WHERE opened_at >= coalesce($7, '')
    ORDER BY key = $1 DESC, opened_at DESC, cases.id DESC
    LIMIT $3
)
SELECT
    newest.*,
    (SELECT p.verdict FROM person_verdicts p WHERE p.case_id = newest.id ORDER BY p.id DESC LIMIT 1) AS person_verdict,
    (
        SELECT json_group_array(tool) FROM (
            SELECT DISTINCT tool.value AS tool
            FROM conclusions c, json_each(c.report, '$.steps') AS step, json_each(step.value, '$.tools') AS tool
            WHERE c.case_id = newest.id AND step.value ->> 'status' = 'failed'
            ORDER BY 1
        )
    ) AS failed_tools
FROM newest
ORDER BY key = $1 DESC, opened_at DESC, id DESC
