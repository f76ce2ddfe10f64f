-- Extends the period of the events of a case to $3.
UPDATE cases SET
    recheck_at = NULL,
    first_event = coalesce({least}(first_event, $3), first_event, $3),
    last_event = coalesce({greatest}(last_event, $3), last_event, $3)
WHERE id = $1 AND revision = $2 AND status = 'concluded'
