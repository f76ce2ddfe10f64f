SELECT id FROM cases
WHERE id {in_list}
{lock_to_update}
