DELETE FROM sightings
WHERE id IN (SELECT sightings.id FROM sightings WHERE case_id = $1 LIMIT $2)
