SELECT sightings, members FROM cases
WHERE id = $1
