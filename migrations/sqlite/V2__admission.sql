-- What becomes of alerts that came before, that come in storms, that are muted, or that their feed has done with.

ALTER TABLE cases ADD COLUMN members INTEGER NOT NULL DEFAULT 0;
-- State at the feed that was noted since the last alert that was triaged, as JSON; NULL: the state of that alert.
ALTER TABLE cases ADD COLUMN feed_state TEXT;
-- The latest `updatedAt` that counted.
ALTER TABLE cases ADD COLUMN updated_at TEXT;
-- Why this revision is triaged.
ALTER TABLE alerts ADD COLUMN why TEXT;
-- Why it is but a sighting.
ALTER TABLE sightings ADD COLUMN note TEXT;

CREATE INDEX cases_storm ON cases (feed, type, account, opened_at);

-- What is triaged when the triage of its case that waits or runs has ended.
CREATE TABLE pending_revisions (
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    why         TEXT NOT NULL,
    alert       TEXT NOT NULL,
    PRIMARY KEY (case_id, seq)
) STRICT, WITHOUT ROWID;

-- Mutes that people added; those of the configuration stand there. A removed one is kept for its count.
CREATE TABLE mutes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    conditions TEXT NOT NULL,
    severity   INTEGER NOT NULL CHECK (severity < 4),
    ends_at    TEXT NOT NULL,
    why        TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    added_at   TEXT NOT NULL,
    removed_at TEXT
) STRICT;

-- Every accepted alert, once: where it is, and why.
CREATE TABLE arrivals (
    id             INTEGER PRIMARY KEY,
    raw_id         INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source         TEXT NOT NULL,
    received_at    TEXT NOT NULL,
    key            TEXT NOT NULL,
    feed           TEXT NOT NULL,
    type           TEXT NOT NULL,
    title          TEXT NOT NULL,
    account        TEXT,
    severity       INTEGER NOT NULL,
    outcome        TEXT NOT NULL CHECK (outcome IN
        ('new', 'sighting', 'revision', 'replaced', 'resumed', 'member', 'muted', 'set_aside')),
    -- the name of the mute, the state or class, what changed, or why nothing did
    why            TEXT,
    case_id        TEXT REFERENCES cases (id) ON DELETE CASCADE,
    dead_letter_id INTEGER REFERENCES dead_letters (id) ON DELETE SET NULL,
    -- the normalised alert, where no case holds it
    alert          TEXT,
    CHECK ((case_id IS NULL) = (outcome IN ('muted', 'set_aside'))),
    CHECK ((alert IS NOT NULL) = (outcome IN ('member', 'muted', 'set_aside'))),
    CHECK (why IS NOT NULL OR outcome NOT IN ('muted', 'set_aside'))
) STRICT;

CREATE INDEX arrivals_members ON arrivals (key) WHERE outcome = 'member';
CREATE INDEX arrivals_case ON arrivals (case_id);
CREATE INDEX arrivals_muted ON arrivals (why) WHERE outcome = 'muted';

CREATE VIEW places AS
SELECT
    id,
    CASE
        WHEN dead_letter_id IS NOT NULL THEN 'dead_letter'
        WHEN outcome IN ('new', 'revision', 'replaced', 'resumed') THEN 'case'
        ELSE outcome
    END AS place,
    CASE WHEN outcome IN ('muted', 'set_aside') THEN why ELSE '' END AS why,
    key,
    case_id
FROM arrivals;

-- What came before this version.
INSERT INTO arrivals
    (raw_id, source, received_at, key, feed, type, title, account, severity, outcome, case_id, dead_letter_id)
SELECT
    came.raw_id, came.source, came.received_at, cases.key, cases.feed, cases.type, cases.title, cases.account,
    cases.severity, came.outcome, came.case_id,
    (SELECT min(dead.id) FROM dead_letters dead WHERE dead.raw_id = came.raw_id AND dead.case_id = came.case_id)
FROM (
    SELECT case_id, raw_id, source, received_at, CASE revision WHEN 1 THEN 'new' ELSE 'revision' END AS outcome
    FROM alerts
    UNION ALL
    SELECT case_id, raw_id, source, received_at, 'sighting' FROM sightings
) AS came
JOIN cases ON cases.id = came.case_id
ORDER BY came.received_at;
