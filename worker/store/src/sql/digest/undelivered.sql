-- A given-up delivery counts on the day on which it was requested. A pending delivery whose attempts failed counts
-- every day, because a temporary refusal does not give it up. Each of the two has an index.
SELECT destination, count(*) AS reports
FROM (
    SELECT case_id, destination FROM deliveries
    WHERE {given_up} AND requested_at >= $1 AND requested_at < $2
    UNION ALL
    SELECT case_id, destination FROM deliveries
    WHERE {undelivered} AND error IS NOT NULL
) AS missing
JOIN cases ON cases.id = case_id
WHERE feed <> 'canary'
GROUP BY destination
ORDER BY destination
