-- Since when a case waits: when it was accepted, or last given back. NULL where a program of an earlier version accepted
-- it: then it waits since `touched_at`.
ALTER TABLE cases ADD COLUMN waiting_since TEXT;
CREATE INDEX cases_waiting ON cases (severity, coalesce(waiting_since, touched_at)) WHERE status = 'queued';
CREATE INDEX cases_running ON cases (lease_holder) WHERE status = 'running';

-- When it was read again, whatever became of it then; NULL: not yet.
ALTER TABLE dead_letters ADD COLUMN retried_at TEXT;
CREATE INDEX dead_letters_unread ON dead_letters (id) WHERE retried_at IS NULL;

CREATE INDEX deliveries_open ON deliveries (wished_at) WHERE sent < wanted AND given_up = 0;
