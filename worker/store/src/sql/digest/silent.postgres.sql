-- Selects the sources that delivered something in the week before, since $3, and nothing since. The query steps from
-- source to source and reads the last alert of each, because eight days of the ledger are too much to read for a few
-- names.
WITH RECURSIVE sources AS (
    (SELECT source FROM arrivals ORDER BY source LIMIT 1)
    UNION ALL
    SELECT (
        SELECT arrivals.source FROM arrivals
        WHERE arrivals.source > sources.source
        ORDER BY arrivals.source
        LIMIT 1
    )
    FROM sources
    WHERE sources.source IS NOT NULL
)
SELECT source, last
FROM sources
CROSS JOIN LATERAL (
    SELECT received_at AS last FROM arrivals
    WHERE arrivals.source = sources.source AND feed <> 'canary' AND received_at >= $3 AND received_at < $2
    ORDER BY received_at DESC
    LIMIT 1
) AS newest
WHERE last < $1
ORDER BY source
