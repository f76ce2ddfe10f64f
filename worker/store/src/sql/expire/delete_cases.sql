DELETE FROM cases
WHERE id {in_list}
