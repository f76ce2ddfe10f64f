UPDATE cases SET recheck_at = $1
WHERE status = 'concluded' AND recheck_at > $1
