SELECT {columns} FROM cases
WHERE id IN (SELECT value FROM json_each($1))
