SELECT
    feed,
    count(*) AS alerts,
    count(*) FILTER (WHERE outcome IN ('new', 'revision', 'replaced', 'resumed')) AS triaged,
    count(*) FILTER (WHERE outcome = 'sighting') AS repeated,
    count(*) FILTER (WHERE outcome = 'muted') AS muted,
    count(*) FILTER (WHERE outcome = 'set_aside') AS set_aside,
    count(*) FILTER (WHERE outcome = 'member') AS members
FROM arrivals
WHERE received_at >= $1 AND received_at < $2 AND feed <> 'canary'
GROUP BY feed
ORDER BY alerts DESC, feed
