-- Since when a case waits, by this database's clock: `touched_at` is the worker's, and stays as it was when a case waits
-- again. And which dead letters were read again.

ALTER TABLE cases ADD COLUMN waiting_since timestamptz NOT NULL DEFAULT now();
CREATE INDEX cases_waiting ON cases (severity, waiting_since) WHERE status = 'queued';
COMMENT ON COLUMN cases.waiting_since IS 'When it was accepted, or last given back, by this database''s clock.';

ALTER TABLE dead_letters ADD COLUMN retried_at timestamptz;
CREATE INDEX dead_letters_unread ON dead_letters (id) WHERE retried_at IS NULL;
COMMENT ON COLUMN dead_letters.retried_at IS 'When it was read again, whatever became of it then; null: not yet.';

CREATE INDEX deliveries_open ON deliveries (wished_at) WHERE sent < wanted AND NOT given_up;
