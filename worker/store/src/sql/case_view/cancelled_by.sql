SELECT cancelled_by FROM alerts
WHERE case_id = $1 AND revision = $2
