SELECT seq, event FROM journal
WHERE case_id = $1 AND revision = $2
ORDER BY seq
