-- Selects whole journals only, because the rest of one could not be folded. Each case is handled once until it is
-- triaged again.
SELECT id FROM cases
WHERE status IN ('concluded', 'failed', 'cancelled') AND journals_removed_to < revision AND concluded_at < $1
ORDER BY concluded_at
LIMIT $2
{lock_to_update}
