SELECT opened_at, id FROM cases
WHERE opened_at < $1 AND (opened_at, id) > ($2, $3)
ORDER BY opened_at, id
LIMIT $4
