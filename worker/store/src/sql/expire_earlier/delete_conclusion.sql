DELETE FROM conclusions
WHERE case_id = $1 AND revision = $2
