-- Journals that a program could not fold, with the greatest journal version that tried: only a program of a newer one
-- tries again, so that the case waits for it and is not claimed in a circle. A new revision has a journal of its own.
CREATE TABLE unread_journals (
    case_id  TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    error    TEXT NOT NULL,
    noted_at TEXT NOT NULL,
    PRIMARY KEY (case_id, revision)
) STRICT, WITHOUT ROWID;
