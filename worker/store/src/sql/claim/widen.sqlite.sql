UPDATE alerts SET alert = json_set(alert, '$.times.first_seen', json($3), '$.times.last_seen', json($4))
WHERE case_id = $1 AND revision = $2
