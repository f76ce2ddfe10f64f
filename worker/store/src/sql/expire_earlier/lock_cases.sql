SELECT id FROM cases
WHERE id {in_list}
{skip_locked}
