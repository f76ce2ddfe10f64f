UPDATE mutes SET removed_at = $2
WHERE id = $1 AND removed_at IS NULL
