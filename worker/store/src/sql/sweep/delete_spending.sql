DELETE FROM spending
WHERE day = $1 AND case_id IN (SELECT case_id FROM spending WHERE day = $1 AND case_id <> '' LIMIT $2)
RETURNING urgent, usd
