-- Triages another alert of the case, which waits from now on.
UPDATE cases SET
    revision = revision + 1, status = 'queued', {empty_journal} crashes = 0, needs_model = false, recheck_at = NULL,
    lease_holder = NULL, lease_until = NULL, severity = coalesce(CAST(CAST($2 AS text) AS severity), severity),
    content = coalesce($3, content), title = coalesce($4, title), type = coalesce($5, type),
    revised_at = {revised_at}, waiting_since = {now}
WHERE id = $1
