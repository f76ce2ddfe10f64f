-- Locks the cases, so that nothing arrives for them until the transaction ends. The next statement sees what arrived
-- before.
SELECT id FROM cases
WHERE id {in_list}
ORDER BY id
{for_update}
