SELECT id FROM dead_letters
WHERE retried_at IS NULL AND id > $1
ORDER BY id
LIMIT $2
