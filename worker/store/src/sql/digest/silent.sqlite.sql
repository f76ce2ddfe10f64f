-- Selects the sources that delivered something in the week before, since $3, and nothing since.
SELECT source, max(received_at) AS last FROM arrivals
WHERE received_at >= $3 AND received_at < $2 AND feed <> 'canary'
GROUP BY source
HAVING max(received_at) < $1
ORDER BY source
