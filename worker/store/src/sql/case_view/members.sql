SELECT received_at, source, key, CAST(severity AS text) AS severity, title FROM arrivals
WHERE case_id = $1 AND outcome = 'member'
ORDER BY {number} DESC
LIMIT $2
