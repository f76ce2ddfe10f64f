SELECT count(*) AS cases FROM cases
WHERE opened_at < $1
