-- Benign cases are evaluated again by code, for 30 days after their last event.

-- When the records and logs of a benign case are looked up again; null where they are not.
ALTER TABLE cases ADD COLUMN recheck_at TEXT;
-- Until when the logs were judged whole by such look-ups; null: until the last event of its alert.
ALTER TABLE cases ADD COLUMN whole_until TEXT;
-- The last event that its sightings told of, also where it was cleared until then.
ALTER TABLE cases ADD COLUMN events_until TEXT;
CREATE INDEX cases_recheck ON cases (recheck_at) WHERE status = 'concluded' AND recheck_at IS NOT NULL;

-- What the register files held when a worker looked last. One row.
CREATE TABLE registers (
    one         INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    fingerprint TEXT NOT NULL,
    changed_at  TEXT NOT NULL
);
