-- Leases that were lost while they ran, until the worker that had one is heard of again: what was lost because the database
-- was away is no crash of the case. And the first time that a triage was given back: a case that is given back again and
-- again waits since then.

CREATE TABLE lost_leases (
    case_id  text COLLATE "C" NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    epoch    bigint NOT NULL,
    revision integer NOT NULL,
    lost_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (case_id, epoch)
);
COMMENT ON TABLE lost_leases IS 'Claims whose lease ended without a word of their worker: each is a crash of its case, until that worker is heard of again and takes it back.';

ALTER TABLE cases ADD COLUMN given_back integer;
COMMENT ON COLUMN cases.given_back IS 'The revision that a worker gave back: waiting_since is the first time that it did.';
COMMENT ON COLUMN cases.waiting_since IS 'When it was accepted, or first given back, by this database''s clock.';
