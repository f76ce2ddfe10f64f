SELECT count(*) AS cases
FROM (SELECT 1 FROM cases WHERE {waits_for_people} LIMIT $1) AS waiting
