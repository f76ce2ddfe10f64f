SELECT first_event, last_event FROM cases
WHERE id = $1
