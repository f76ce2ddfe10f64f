-- Selects cases that were concluded without a model that should have examined them.
SELECT id FROM cases
WHERE needs_model AND status IN ('concluded', 'failed')
ORDER BY severity DESC, concluded_at
LIMIT $1
{lock_to_update}
