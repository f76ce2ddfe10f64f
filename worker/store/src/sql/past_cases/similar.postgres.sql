-- Selects cases with the same key, or with one of the values of $4 (types) and $5 (values), and which of these they
-- have.
--
-- The conditions are written for the planner. For a range and a CASE it expects many rows, and therefore reads the
-- newest off the index until there are enough. For `=` it expects few rows, as most values are rare, and therefore
-- reads and sorts all of them. That takes seconds for a value with a hundred thousand cases. Reports are large: the
-- subqueries that read them are in the list of columns, and therefore run for the returned rows only.
WITH alike AS (
    SELECT id, coalesce(jsonb_agg(number) FILTER (WHERE number IS NOT NULL), '[]') AS numbers
    FROM (
        (SELECT id, NULL::bigint AS number FROM cases WHERE key = $1 AND id <> $2 ORDER BY opened_at DESC LIMIT $3)
        UNION ALL
        SELECT found.case_id, wanted.number - 1
        FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS wanted (type, value, number)
        CROSS JOIN LATERAL (
            SELECT i.case_id FROM indicators i
            WHERE (hashtextextended(i.value, 0), i.noted_at) BETWEEN (hashtextextended(wanted.value, 0), '-infinity')
                    AND (hashtextextended(wanted.value, 0), 'infinity')
                AND CASE WHEN i.type = wanted.type AND i.value = wanted.value THEN i.case_id <> $2 ELSE false END
                AND i.role <> 'related'
            ORDER BY hashtextextended(i.value, 0) DESC, i.noted_at DESC
            LIMIT $6
        ) AS found
    ) AS one
    GROUP BY id
)
SELECT
    cases.id, key, type, account, opened_at, CAST(severity AS text) AS severity, status,
    CASE WHEN status <> 'failed' AND NOT {leftover} THEN verdict END AS verdict,
    numbers,
    (SELECT p.verdict FROM person_verdicts p WHERE p.case_id = cases.id ORDER BY p.id DESC LIMIT 1) AS person_verdict,
    to_jsonb(array(
        SELECT DISTINCT tool FROM conclusions c
        CROSS JOIN LATERAL jsonb_array_elements(c.report -> 'steps') AS step
        CROSS JOIN LATERAL jsonb_array_elements_text(step -> 'tools') AS tool
        WHERE c.case_id = cases.id AND step ->> 'status' = 'failed'
        ORDER BY 1
    )) AS failed_tools
FROM alike
JOIN cases USING (id)
WHERE opened_at >= coalesce($7::timestamptz, '-infinity')
ORDER BY key = $1 DESC, opened_at DESC, cases.id COLLATE "C" DESC
LIMIT $3
