UPDATE dead_letters SET retried_at = $2
WHERE id = $1 AND retried_at IS NULL
