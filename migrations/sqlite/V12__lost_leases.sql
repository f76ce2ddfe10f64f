-- Leases that were lost while they ran, until the process that had one is heard of again: it was frozen, and did not crash.
CREATE TABLE lost_leases (
    case_id  TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    epoch    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (case_id, epoch)
) WITHOUT ROWID;

-- The revision that a worker gave back: `waiting_since` is the first time that it did.
ALTER TABLE cases ADD COLUMN given_back INTEGER;
