SELECT revision FROM conclusions
WHERE case_id = $1 AND revision = $2 AND epoch = $3
