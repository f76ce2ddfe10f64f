SELECT id, conditions, CAST(severity AS text) AS severity, ends_at, reason, made_by, added_at, removed_at
FROM mutes
WHERE removed_at IS NULL
ORDER BY id
