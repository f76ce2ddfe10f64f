INSERT INTO mutes (conditions, severity, ends_at, reason, made_by, added_at)
VALUES ($1, CAST(CAST($2 AS text) AS severity), $3, $4, $5, $6)
RETURNING id
