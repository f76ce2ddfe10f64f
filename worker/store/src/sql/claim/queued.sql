SELECT revision, first_event, last_event FROM cases
WHERE id = $1 AND status = 'queued'
{lock}
