SELECT status, revision FROM cases
WHERE id = $1
