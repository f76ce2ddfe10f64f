-- Locks cases as for an account if they are over and nobody else has locked them.
SELECT opened_at, id FROM cases
WHERE opened_at < $1 AND (opened_at, id) > ($2, $3) AND status IN ('concluded', 'failed', 'cancelled')
ORDER BY opened_at, id
LIMIT $4
{skip_locked}
