UPDATE cases SET first_event = NULL, last_event = NULL
WHERE id = $1
