SELECT seq FROM journal
WHERE case_id = $1 AND revision = $2
LIMIT 1
