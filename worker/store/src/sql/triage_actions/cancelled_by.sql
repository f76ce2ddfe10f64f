UPDATE alerts SET cancelled_by = $3
WHERE case_id = $1 AND revision = $2
