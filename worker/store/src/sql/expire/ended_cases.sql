-- Skips locked cases, because they may be queued again.
SELECT id FROM cases
WHERE status IN ('concluded', 'failed', 'cancelled') AND concluded_at < $1
ORDER BY concluded_at
LIMIT $2
{skip_locked}
