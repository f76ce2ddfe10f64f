-- Benign cases are evaluated again by code, for 30 days after their last event.

ALTER TABLE cases ADD COLUMN recheck_at timestamptz, ADD COLUMN whole_until timestamptz, ADD COLUMN events_until timestamptz;
COMMENT ON COLUMN cases.recheck_at IS 'When the records and logs of a case are looked up again: a benign one, or one that a look-up held up; null where they are not.';
COMMENT ON COLUMN cases.whole_until IS 'Until when the logs were judged whole by such look-ups; null: until the last event of its alert.';
COMMENT ON COLUMN cases.events_until IS 'The last event that its sightings told of, also where it was cleared until then.';
COMMENT ON COLUMN alerts.why IS 'Why it was triaged again: what was new, asked (somebody asked for it), models_back, record_ended, new_acts, lookup_whole; null for the first.';

CREATE TABLE registers (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    fingerprint text NOT NULL,
    changed_at  timestamptz NOT NULL
);
COMMENT ON TABLE registers IS 'What the register files held when a worker looked last. One row.';
COMMENT ON COLUMN registers.one IS 'Always true.';
COMMENT ON COLUMN registers.fingerprint IS 'Hash of the files.';
COMMENT ON COLUMN registers.changed_at IS 'When a worker noticed that they hold something else; all benign cases were due then.';
