SELECT received_at, source, count, note FROM sightings
WHERE case_id = $1
ORDER BY {number} DESC
LIMIT $2
