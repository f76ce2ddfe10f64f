-- Selects cases whose alert names this value in a role other than related. It looks up only the newest, once, with
-- conditions that make the planner read the index (see past_cases).
SELECT named.case_id FROM unnest(ARRAY[$12, $13]) AS one (value)
CROSS JOIN LATERAL (
    SELECT case_id FROM indicators i
    WHERE (hashtextextended(i.value, 0), i.noted_at)
            BETWEEN (hashtextextended(one.value, 0), '-infinity') AND (hashtextextended(one.value, 0), 'infinity')
        AND CASE WHEN i.value = one.value THEN true ELSE false END AND i.role <> 'related'
    ORDER BY hashtextextended(i.value, 0) DESC, i.noted_at DESC
    LIMIT 10000
) AS named
