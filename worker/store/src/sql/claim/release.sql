-- A case that is released repeatedly, because models come and go, waits since the first release.
UPDATE cases SET
    status = 'queued', lease_holder = NULL, lease_until = NULL, released_revision = revision,
    waiting_since = CASE WHEN released_revision = revision THEN waiting_since ELSE {now} END
WHERE id = $1 AND epoch = $2 AND status = 'running' {and_is_holder}
