-- What people did with cases, as they did it: acknowledged, assigned, agreed, disagreed, asked_again, muted, closed.
-- `about`: whom it was assigned to, their verdict, or the name of the mute; `until`: when the mute ends.
CREATE TABLE acts (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    case_id TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    at      TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    act     TEXT NOT NULL,
    about   TEXT,
    until   TEXT,
    note    TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE UNIQUE INDEX acts_once ON acts (case_id, at, by_whom, act);
CREATE INDEX acts_case ON acts (case_id, id);

INSERT INTO acts (case_id, at, by_whom, act, about, note)
SELECT case_id, decided_at, decided_by, CASE WHEN agreed THEN 'agreed' ELSE 'disagreed' END,
    CASE WHEN agreed THEN NULL ELSE verdict END, note
FROM person_verdicts WHERE true ORDER BY id ON CONFLICT DO NOTHING;

-- Where a case stands with people (open, acknowledged, closed), and who has it.
ALTER TABLE cases ADD COLUMN desk TEXT NOT NULL DEFAULT 'open';
ALTER TABLE cases ADD COLUMN owner TEXT;
CREATE INDEX cases_desk ON cases (desk, opened_at) WHERE desk <> 'closed';

-- `major`: the newest version that says something new; in those after it only counts and people's acts changed. `shown`:
-- what the destination shows, as JSON.
ALTER TABLE deliveries ADD COLUMN major INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN shown TEXT;
ALTER TABLE deliveries ADD COLUMN sent_at TEXT;
UPDATE deliveries SET major = wanted;

-- Which daily digests are posted, or were begun.
CREATE TABLE digests (
    destination TEXT NOT NULL,
    day         TEXT NOT NULL,
    begun_at    TEXT NOT NULL,
    sent_at     TEXT,
    PRIMARY KEY (destination, day)
) STRICT, WITHOUT ROWID;
