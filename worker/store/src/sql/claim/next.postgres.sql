-- Selects and locks the best cases. The rank is the severity plus one level per half hour of waiting, but never
-- critical. Cases that a lost worker had begun go before all others but critical ones. Each worker runs one suspect at
-- a time, which is a case that crashed twice. Only the oldest cases of each severity are examined. More are examined
-- than needed, because other workers may take some at the same time. Canaries do not wait for models, because rules
-- triage them.
WITH best AS MATERIALIZED (
    SELECT
        id, revised_at,
        CASE severity
            WHEN 'critical' THEN 4.0
            ELSE least(
                3.99,
                array_position(enum_range(NULL::severity), severity) - 1 + 4 * least(crashes, 1)
                    + extract(epoch FROM clock_timestamp() - revised_at) / 1800
            )
        END AS rank
    FROM (
        SELECT one.* FROM unnest(enum_range(CAST($1 AS severity), NULL)) AS level (severity)
        CROSS JOIN LATERAL (
            SELECT id, severity, revised_at, crashes FROM cases
            WHERE status = 'queued' AND cases.severity = level.severity AND crashes < 2 AND {may_take}
            ORDER BY revised_at
            LIMIT 2 * $2 + 16
        ) AS one
        UNION ALL
        (
            SELECT id, severity, revised_at, crashes FROM cases
            WHERE status = 'queued' AND crashes >= 2 AND severity >= CAST($1 AS severity) AND $7
                AND NOT EXISTS (
                    SELECT FROM cases AS other
                    WHERE other.status = 'running' AND other.crashes >= 2 AND other.lease_holder = $4
                )
                AND {may_take}
            ORDER BY severity DESC, revised_at
            LIMIT 1
        )
    ) AS waiting
)
SELECT cases.id FROM best
JOIN cases ON cases.id = best.id
WHERE cases.status = 'queued'
ORDER BY best.rank DESC, best.revised_at
LIMIT $2
FOR UPDATE OF cases SKIP LOCKED
