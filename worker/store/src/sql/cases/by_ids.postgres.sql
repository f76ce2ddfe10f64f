SELECT {columns} FROM cases
WHERE id = ANY($1)
