-- Selects the next cases. The rank is the severity plus one level per half hour of waiting, but never critical. Cases
-- that a lost worker had begun go before all others but critical ones. Of the cases that crashed twice, each process
-- runs one at a time, the most severe first. Canaries do not wait for models, because rules triage them.
SELECT id FROM cases
WHERE status = 'queued' AND severity >= $1
    AND (crashes < 2 OR id = (
        SELECT id FROM cases
        WHERE status = 'queued' AND crashes >= 2 AND severity >= $1
            AND NOT EXISTS (
                SELECT 1 FROM cases AS other
                WHERE other.status = 'running' AND other.crashes >= 2 AND other.lease_holder = $4
            )
            AND {may_take}
        ORDER BY severity DESC, revised_at
        LIMIT 1
    ))
    AND {may_take}
ORDER BY
    CASE severity
        WHEN 4 THEN 4.0
        ELSE min(severity + 4 * min(crashes, 1) + abs(unixepoch('now') - unixepoch(revised_at)) / 1800.0, 3.99)
    END DESC,
    revised_at
LIMIT $2
