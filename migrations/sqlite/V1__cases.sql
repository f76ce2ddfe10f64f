-- Times are RFC 3339 in UTC with microseconds, so that they sort as text. Severities are 0 (informational) to 4 (critical).

-- What came, as it came: redaction happens behind it. Its own table, so that it has its own retention.
CREATE TABLE raw_messages (
    id          INTEGER PRIMARY KEY,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    sha256      TEXT NOT NULL,
    bytes       BLOB NOT NULL
) STRICT;

CREATE TABLE cases (
    id                TEXT PRIMARY KEY,
    key               TEXT NOT NULL,
    feed              TEXT NOT NULL,
    type              TEXT NOT NULL,
    title             TEXT NOT NULL,
    account           TEXT,
    severity          INTEGER NOT NULL,
    content           TEXT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('queued', 'running', 'concluded', 'failed', 'cancelled')),
    people            TEXT NOT NULL DEFAULT 'open' CHECK (people IN ('open', 'acknowledged', 'closed')),
    revision          INTEGER NOT NULL DEFAULT 1,
    sightings         INTEGER NOT NULL DEFAULT 0,
    opened_at         TEXT NOT NULL,
    touched_at        TEXT NOT NULL,
    concluded_at      TEXT,
    verdict           TEXT,
    leaning           TEXT,
    assessed_severity INTEGER,
    usd               REAL NOT NULL DEFAULT 0,
    epoch             INTEGER NOT NULL DEFAULT 0,
    crashes           INTEGER NOT NULL DEFAULT 0,
    lease_holder      TEXT,
    -- seconds since the host was started: a clock that is set cannot touch it
    lease_until       REAL
) STRICT;

CREATE INDEX cases_key ON cases (key, opened_at);
CREATE INDEX cases_open ON cases (severity DESC, opened_at) WHERE status IN ('queued', 'running');
CREATE INDEX cases_opened ON cases (opened_at);

-- The normalised alert that each revision triages.
CREATE TABLE alerts (
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision    INTEGER NOT NULL,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    alert       TEXT NOT NULL,
    PRIMARY KEY (case_id, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE indicators (
    type    TEXT NOT NULL,
    value   TEXT NOT NULL,
    case_id TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    role    TEXT NOT NULL,
    PRIMARY KEY (type, value, case_id, role)
) STRICT, WITHOUT ROWID;

CREATE INDEX indicators_case ON indicators (case_id);

CREATE TABLE sightings (
    id          INTEGER PRIMARY KEY,
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    count       INTEGER NOT NULL,
    content     TEXT NOT NULL
) STRICT;

CREATE INDEX sightings_case ON sightings (case_id);

CREATE TABLE journal (
    case_id  TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    at       TEXT NOT NULL,
    kind     TEXT NOT NULL,
    command  TEXT,
    event    TEXT NOT NULL,
    PRIMARY KEY (case_id, revision, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE conclusions (
    case_id           TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision          INTEGER NOT NULL,
    concluded_at      TEXT NOT NULL,
    verdict           TEXT NOT NULL,
    leaning           TEXT NOT NULL,
    reason            TEXT NOT NULL,
    confidence        TEXT NOT NULL,
    assessed_severity INTEGER NOT NULL,
    report            TEXT NOT NULL,
    PRIMARY KEY (case_id, revision)
) STRICT, WITHOUT ROWID;

-- The wish that a case be shown at a destination, and how far it is fulfilled.
CREATE TABLE deliveries (
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    destination TEXT NOT NULL,
    wanted      INTEGER NOT NULL,
    sent        INTEGER NOT NULL DEFAULT 0,
    remote_id   TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    wished_at   TEXT NOT NULL,
    retry_at    TEXT,
    given_up    INTEGER NOT NULL DEFAULT 0,
    error       TEXT,
    PRIMARY KEY (case_id, destination)
) STRICT, WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (destination, wished_at) WHERE sent < wanted;

CREATE TABLE dead_letters (
    id          INTEGER PRIMARY KEY,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    error       TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    sha256      TEXT NOT NULL,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    case_id     TEXT REFERENCES cases (id) ON DELETE SET NULL
) STRICT;

-- Evidence is what tool calls answered; it is stored once, in the journal. E0, the alert, stands in `alerts`.
CREATE VIEW evidence AS
WITH calls AS (
    SELECT case_id, revision, command, min(seq) AS first_seq
    FROM journal
    WHERE kind = 'started' AND command LIKE 'call:%'
    GROUP BY case_id, revision, command
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY case_id, revision ORDER BY first_seq) AS number
    FROM calls
)
SELECT
    numbered.case_id,
    numbered.revision,
    'E' || numbered.number AS evidence,
    numbered.command,
    journal.at,
    json_extract(journal.event, '$.outcome.value.body') AS body,
    json_extract(journal.event, '$.outcome.value.rows') AS rows,
    json_extract(journal.event, '$.outcome.value.error') AS error
FROM numbered
JOIN journal USING (case_id, revision, command)
WHERE journal.kind = 'finished';
