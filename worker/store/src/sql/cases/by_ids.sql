SELECT {columns} FROM cases
WHERE id {in_list}
