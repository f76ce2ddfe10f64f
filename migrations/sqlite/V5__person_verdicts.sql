-- What people decided over cases; the newest of each case counts. `agreed`: the case had the same verdict then.
CREATE TABLE person_verdicts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    case_id    TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL,
    decided_at TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    agreed     INTEGER NOT NULL CHECK (agreed IN (0, 1)),
    note       TEXT NOT NULL
) STRICT;

CREATE INDEX person_verdicts_case ON person_verdicts (case_id, id);
