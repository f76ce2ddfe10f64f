UPDATE cases SET logs_complete_until = $3, recheck_at = $4
WHERE id = $1 AND revision = $2 AND status = 'concluded'
