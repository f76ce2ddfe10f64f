-- Triages the same alert again. It keeps its arrival time, and waits from now on.
UPDATE cases SET
    revision = revision + 1, status = 'queued', {empty_journal} crashes = 0, needs_model = false, lease_holder = NULL,
    lease_until = NULL, revised_at = {now}, waiting_since = {now}
WHERE id = $1
