SELECT report FROM conclusions
WHERE case_id = $1
ORDER BY revision DESC
LIMIT 1
