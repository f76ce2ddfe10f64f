UPDATE alerts SET alert = jsonb_set(jsonb_set(alert, '{times,first_seen}', $3), '{times,last_seen}', $4)
WHERE case_id = $1 AND revision = $2
