-- Selects the cases whose id begins with the text. Ids are compared byte by byte, and `~` is greater than all their
-- characters.
SELECT {columns} FROM cases
WHERE id >= $1 AND id < $1 || '~' AND substr(id, 1, length($1)) = $1
LIMIT 2
