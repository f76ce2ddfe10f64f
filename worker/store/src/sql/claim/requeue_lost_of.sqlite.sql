-- Requeues running cases whose worker is gone or whose lease has expired.
UPDATE cases SET
    status = 'queued', crashes = crashes + 1, lease_holder = NULL, lease_until = NULL,
    waiting_since = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')
WHERE status = 'running' AND lease_holder IS $1 AND coalesce(lease_until, 0) NOT BETWEEN $2 AND $3
