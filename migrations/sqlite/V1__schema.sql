-- The schema of Nightshift in SQLite. docs/database.md explains it; the schema of PostgreSQL has a comment for each column.
--
-- Times are RFC 3339 in UTC with microseconds, so that they sort as text. Severities are 0 (informational) to 4 (critical).
--
-- Rule for later migrations: a migration only adds (columns with defaults, tables, views), because programs of the
-- previous version keep running beside it. A later version removes what nobody writes any more.

-- Intake ------------------------------------------------------------------------------------------------------------

-- Messages as they were received, before redaction. Retention removes them first (raw_days).
CREATE TABLE raw_messages (
    id          INTEGER PRIMARY KEY,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    sha256      TEXT NOT NULL,
    bytes       BLOB NOT NULL,
    -- key of the object that holds the whole message, below [blobs] url; bytes is empty then
    blob        TEXT
) STRICT;
CREATE INDEX raw_messages_received ON raw_messages (received_at);

-- Objects that no message refers to: before the message is accepted, and after it is removed.
CREATE TABLE orphaned_blobs (
    key   TEXT PRIMARY KEY,
    -- seconds since 1970; 0 where the message was removed
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX orphaned_blobs_since ON orphaned_blobs (since);

CREATE TRIGGER orphan_blob AFTER DELETE ON raw_messages WHEN old.blob IS NOT NULL
BEGIN
    INSERT INTO orphaned_blobs (key, since) VALUES (old.blob, 0);
END;

-- Cases -------------------------------------------------------------------------------------------------------------

-- The triage of an alert: one row per case, whatever its revision.
CREATE TABLE cases (
    id                  TEXT PRIMARY KEY,
    -- The alert: identity of the alert, its feed, its finding type.
    key                 TEXT NOT NULL,
    feed                TEXT NOT NULL,
    type                TEXT NOT NULL,
    title               TEXT NOT NULL,
    account             TEXT,
    severity            INTEGER NOT NULL,
    -- hash of the normalised alert without counters and times
    content             TEXT NOT NULL,
    -- a generated sample opened the case: it is part of no storm
    sample              INTEGER NOT NULL DEFAULT 0,
    opened_at           TEXT NOT NULL,
    -- when the alert of the latest revision was received
    revised_at          TEXT NOT NULL,
    sightings           INTEGER NOT NULL DEFAULT 0,
    members             INTEGER NOT NULL DEFAULT 0,
    -- state at the feed, as JSON, noted since the last alert that was triaged; NULL: the state of that alert
    feed_state          TEXT,
    -- the latest updatedAt of the feed that counted
    updated_at          TEXT,
    -- first and last event of the sightings since the case was last cleared: the window of the next triage
    first_event         TEXT,
    last_event          TEXT,
    -- last event of all sightings, also where the case was cleared until then
    events_until        TEXT,

    -- Its triage.
    status              TEXT NOT NULL CHECK (status IN ('queued', 'running', 'concluded', 'failed', 'cancelled')),
    revision            INTEGER NOT NULL DEFAULT 1,
    concluded_at        TEXT,
    verdict             TEXT,
    leaning             TEXT,
    assessed_severity   INTEGER,
    usd                 REAL NOT NULL DEFAULT 0,
    -- concluded without a model because all were down: triaged again when they are back
    needs_model         INTEGER NOT NULL DEFAULT 0 CHECK (needs_model IN (0, 1)),
    -- when the records and logs of the case are looked up again; NULL: never
    recheck_at          TEXT,
    -- until when rechecks found the logs complete; NULL: until the last event of the alert
    logs_complete_until TEXT,

    -- What people did with it: open, acknowledged, closed.
    workflow_status     TEXT NOT NULL DEFAULT 'open',
    owner               TEXT,

    -- Its queue and lease: when it was queued, or first released, and the revision that a worker released unfinished.
    waiting_since       TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
    released_revision   INTEGER,
    -- how often it was claimed; each write of a worker names the epoch of its claim
    epoch               INTEGER NOT NULL DEFAULT 0,
    crashes             INTEGER NOT NULL DEFAULT 0,
    lease_holder        TEXT,
    -- seconds since the host was started: setting the clock does not change it
    lease_until         REAL,

    -- The revision up to which retention removed the journals; 0: none.
    journals_removed_to INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Admission.
CREATE INDEX cases_key ON cases (key, opened_at);
CREATE INDEX cases_storm ON cases (feed, type, account, opened_at);
-- The queue.
CREATE INDEX cases_open ON cases (severity DESC, opened_at) WHERE status IN ('queued', 'running');
CREATE INDEX cases_waiting ON cases (severity, waiting_since) WHERE status = 'queued';
CREATE INDEX cases_suspects ON cases (severity, revised_at) WHERE status = 'queued' AND crashes >= 2;
CREATE INDEX cases_running ON cases (lease_holder) WHERE status = 'running';
CREATE INDEX cases_needs_model ON cases (severity, concluded_at) WHERE needs_model;
CREATE INDEX cases_recheck ON cases (recheck_at) WHERE status = 'concluded' AND recheck_at IS NOT NULL;
-- Lists.
CREATE INDEX cases_opened ON cases (opened_at);
CREATE INDEX cases_cancelled ON cases (id) WHERE status = 'cancelled';
CREATE INDEX cases_failed ON cases (opened_at DESC, id) WHERE status = 'failed';
CREATE INDEX cases_workflow_status ON cases (workflow_status, opened_at) WHERE workflow_status <> 'closed';
-- The severity is the one that lists show.
CREATE INDEX cases_high_priority ON cases (opened_at DESC, id)
    WHERE workflow_status = 'open'
        AND (status IN ('queued', 'running', 'failed') OR verdict IN ('true_positive', 'inconclusive'))
        AND CASE WHEN status IN ('concluded', 'failed') THEN coalesce(assessed_severity, severity)
            ELSE max(severity, coalesce(assessed_severity, severity)) END >= 3;
-- The digest names ten of these, the most severe and oldest first. A verdict stands while its case is triaged again.
CREATE INDEX cases_waiting_for_people ON cases (coalesce(assessed_severity, severity) DESC, opened_at)
    WHERE workflow_status <> 'closed' AND feed <> 'canary'
        AND (status = 'failed' OR verdict IN ('true_positive', 'inconclusive'));
-- Retention.
CREATE INDEX cases_ended ON cases (concluded_at) WHERE status IN ('concluded', 'failed', 'cancelled');
CREATE INDEX cases_journals ON cases (concluded_at)
    WHERE status IN ('concluded', 'failed', 'cancelled') AND journals_removed_to < revision;
CREATE INDEX cases_earlier_journals ON cases (opened_at, id) WHERE journals_removed_to < revision - 1;

-- The normalised alert that each revision of a case triages: its evidence E0.
CREATE TABLE alerts (
    case_id      TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision     INTEGER NOT NULL,
    raw_id       INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source       TEXT NOT NULL,
    received_at  TEXT NOT NULL,
    -- why the case was triaged again; NULL for the first revision
    reason       TEXT,
    alert        TEXT NOT NULL,
    -- who cancelled this triage; NULL: nobody did
    cancelled_by TEXT,
    PRIMARY KEY (case_id, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX alerts_received ON alerts (received_at);
CREATE INDEX alerts_raw ON alerts (raw_id) WHERE raw_id IS NOT NULL;

CREATE TABLE indicators (
    type     TEXT NOT NULL,
    value    TEXT NOT NULL,
    case_id  TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    role     TEXT NOT NULL,
    -- when the alert that holds the value was accepted
    noted_at TEXT NOT NULL,
    PRIMARY KEY (type, value, case_id, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX indicators_case ON indicators (case_id);
-- A campaign puts one value into ten thousand cases, of which the newest fifty are looked at. Related values lead to no
-- earlier case.
CREATE INDEX indicators_newest ON indicators (type, value, noted_at) WHERE role <> 'related';

-- Further arrivals of an alert that has a case.
CREATE TABLE sightings (
    id          INTEGER PRIMARY KEY,
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    count       INTEGER NOT NULL,
    content     TEXT NOT NULL,
    -- why it is only a sighting
    note        TEXT
) STRICT;
CREATE INDEX sightings_case ON sightings (case_id);
CREATE INDEX sightings_raw ON sightings (raw_id) WHERE raw_id IS NOT NULL;

-- Alerts that are triaged when the triage of their case that waits or runs has ended.
CREATE TABLE pending_revisions (
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    reason      TEXT NOT NULL,
    alert       TEXT NOT NULL,
    PRIMARY KEY (case_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_revisions_raw ON pending_revisions (raw_id) WHERE raw_id IS NOT NULL;

-- Claims whose lease ended while their process was silent. Each counts as a crash until that process is heard of again.
CREATE TABLE lost_leases (
    case_id  TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    epoch    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (case_id, epoch)
) STRICT, WITHOUT ROWID;

-- Journals and conclusions -------------------------------------------------------------------------------------------

-- The ordered events of a case; its state is their fold. docs/journal.md explains them.
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

-- Journals that a program could not fold, with the greatest journal version that tried: only a program of a newer one
-- tries again, so that the case waits for it and is not claimed over and over. A new revision has a journal of its own.
CREATE TABLE unreadable_journals (
    case_id  TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    error    TEXT NOT NULL,
    noted_at TEXT NOT NULL,
    PRIMARY KEY (case_id, revision)
) STRICT, WITHOUT ROWID;

-- How each revision of a case ended, with the report that destinations show.
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
CREATE INDEX conclusions_concluded ON conclusions (concluded_at);

-- The distinct words of the last report of a case: of its title, description and summary. Other cases with many of them
-- are similar. The full-text index follows by triggers, and keeps nothing of a removed case.
CREATE TABLE case_words (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    case_id TEXT NOT NULL UNIQUE REFERENCES cases (id) ON DELETE CASCADE,
    words   TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE case_words_index USING fts5 (words, content = 'case_words', content_rowid = 'number');
INSERT INTO case_words_index (case_words_index, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER case_words_added AFTER INSERT ON case_words BEGIN
    INSERT INTO case_words_index (rowid, words) VALUES (new.number, new.words);
END;
CREATE TRIGGER case_words_removed AFTER DELETE ON case_words BEGIN
    INSERT INTO case_words_index (case_words_index, rowid, words) VALUES ('delete', old.number, old.words);
END;
CREATE TRIGGER case_words_changed AFTER UPDATE ON case_words BEGIN
    INSERT INTO case_words_index (case_words_index, rowid, words) VALUES ('delete', old.number, old.words);
    INSERT INTO case_words_index (rowid, words) VALUES (new.number, new.words);
END;

-- What cases cost, by the UTC day on which it was settled: the sum of a day is what the day's budget counts. It has no
-- reference to the case: what was paid stays counted when the case is removed.
CREATE TABLE spending (
    day     TEXT NOT NULL,
    case_id TEXT NOT NULL,
    -- the alert was high or critical
    urgent  INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    usd     REAL NOT NULL,
    PRIMARY KEY (day, case_id, urgent)
) STRICT, WITHOUT ROWID;

-- People --------------------------------------------------------------------------------------------------------------

-- What people did with cases, in order: acknowledged, assigned, agreed, disagreed, asked_again, muted, closed; and
-- reopened, whose actor is the source whose alert opened the case again.
CREATE TABLE case_actions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    case_id     TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    at          TEXT NOT NULL,
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    -- the new owner of assigned, the verdict of disagreed, or the name of the mute
    detail      TEXT,
    muted_until TEXT,
    note        TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX case_actions_unique ON case_actions (case_id, at, actor, action);
CREATE INDEX case_actions_case ON case_actions (case_id, id);

-- What people decided about cases; the newest of each case counts.
CREATE TABLE person_verdicts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    case_id    TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    revision   INTEGER NOT NULL,
    decided_at TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    -- the case had the same verdict then
    agreed     INTEGER NOT NULL CHECK (agreed IN (0, 1)),
    note       TEXT NOT NULL,
    -- of the alert that was judged; a trigger copies them
    account    TEXT,
    type       TEXT
) STRICT;
CREATE INDEX person_verdicts_case ON person_verdicts (case_id, id);
-- Each triage looks for what a person decided last about the same finding.
CREATE INDEX person_verdicts_similar ON person_verdicts (account, type, decided_at, id) WHERE account IS NOT NULL;
CREATE TRIGGER copy_judged_alert AFTER INSERT ON person_verdicts BEGIN
    UPDATE person_verdicts SET (account, type) = (SELECT alert ->> '$.account', alert ->> '$.type' FROM alerts
        WHERE alerts.case_id = NEW.case_id AND alerts.revision = NEW.revision)
    WHERE id = NEW.id;
END;

-- Mutes that people added; those of the configuration are not stored. A removed mute is kept for its count.
CREATE TABLE mutes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    conditions TEXT NOT NULL,
    severity   INTEGER NOT NULL CHECK (severity < 4),
    ends_at    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    added_at   TEXT NOT NULL,
    removed_at TEXT
) STRICT;

-- What the register files held when a worker last looked. One row.
CREATE TABLE registers (
    singleton   INTEGER PRIMARY KEY DEFAULT 1 CHECK (singleton = 1),
    fingerprint TEXT NOT NULL,
    changed_at  TEXT NOT NULL
) STRICT;

-- Until when data expired in the last clean-up. One row. A clock that jumps ahead moves it by one day in each clean-up.
CREATE TABLE retention_clock (
    singleton  INTEGER PRIMARY KEY DEFAULT 1 CHECK (singleton = 1),
    reached_at TEXT NOT NULL
) STRICT;

-- Delivery ------------------------------------------------------------------------------------------------------------

-- Which version of a case a destination should show, and which it shows.
CREATE TABLE deliveries (
    case_id        TEXT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    destination    TEXT NOT NULL,
    wanted_version INTEGER NOT NULL,
    -- the newest version that says something new: in later ones only counts and case actions changed
    major_version  INTEGER NOT NULL,
    sent_version   INTEGER NOT NULL DEFAULT 0,
    remote_id      TEXT,
    -- what the destination shows, as JSON
    shown          TEXT,
    attempts       INTEGER NOT NULL DEFAULT 0,
    requested_at   TEXT NOT NULL,
    -- when an attempt began whose result is unknown: the report may be shown; NULL: no attempt is in doubt
    begun_at       TEXT,
    sent_at        TEXT,
    retry_at       TEXT,
    given_up       INTEGER NOT NULL DEFAULT 0,
    error          TEXT,
    -- the destinations that do not show the report, and why, as JSON; NULL where it is shown here for its own sake
    instead_of     TEXT,
    PRIMARY KEY (case_id, destination)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (destination, requested_at) WHERE sent_version < wanted_version;
CREATE INDEX deliveries_open ON deliveries (requested_at) WHERE sent_version < wanted_version AND given_up = 0;
CREATE INDEX deliveries_given_up ON deliveries (requested_at) WHERE given_up = 1;

-- The one process that sends to a destination. `process` and `lease_until` are as those of the leases of cases: boot and
-- process, and seconds since the host was started.
CREATE TABLE destination_leases (
    destination TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    process     TEXT NOT NULL,
    lease_until REAL NOT NULL
) STRICT;

-- Daily digests that were begun or posted.
CREATE TABLE digests (
    destination TEXT NOT NULL,
    day         TEXT NOT NULL,
    begun_at    TEXT NOT NULL,
    sent_at     TEXT,
    PRIMARY KEY (destination, day)
) STRICT, WITHOUT ROWID;

-- The ledger ----------------------------------------------------------------------------------------------------------

-- Messages that could not be read. Their bytes are in raw_messages.
CREATE TABLE dead_letters (
    id          INTEGER PRIMARY KEY,
    source      TEXT NOT NULL,
    received_at TEXT NOT NULL,
    error       TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    sha256      TEXT NOT NULL,
    raw_id      INTEGER REFERENCES raw_messages (id) ON DELETE SET NULL,
    -- the case that announces it: one per source and hour
    case_id     TEXT REFERENCES cases (id) ON DELETE SET NULL,
    -- when it was read again, with whatever result; NULL: not yet
    retried_at  TEXT
) STRICT;
CREATE INDEX dead_letters_case ON dead_letters (case_id) WHERE case_id IS NOT NULL;
CREATE INDEX dead_letters_raw ON dead_letters (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX dead_letters_unread ON dead_letters (id) WHERE retried_at IS NULL;
CREATE INDEX dead_letters_received ON dead_letters (received_at);

-- Every accepted alert, once, with what became of it.
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
    reason         TEXT,
    case_id        TEXT REFERENCES cases (id) ON DELETE CASCADE,
    dead_letter_id INTEGER REFERENCES dead_letters (id) ON DELETE SET NULL,
    -- the normalised alert, where no case holds it
    alert          TEXT,
    CHECK ((case_id IS NULL) = (outcome IN ('muted', 'set_aside'))),
    CHECK ((alert IS NOT NULL) = (outcome IN ('member', 'muted', 'set_aside'))),
    CHECK (reason IS NOT NULL OR outcome NOT IN ('muted', 'set_aside'))
) STRICT;
CREATE INDEX arrivals_members ON arrivals (key) WHERE outcome = 'member';
CREATE INDEX arrivals_muted ON arrivals (reason) WHERE outcome = 'muted';
CREATE INDEX arrivals_case ON arrivals (case_id);
CREATE INDEX arrivals_raw ON arrivals (raw_id) WHERE raw_id IS NOT NULL;
CREATE INDEX arrivals_dead_letter ON arrivals (dead_letter_id) WHERE dead_letter_id IS NOT NULL;
CREATE INDEX arrivals_without_case ON arrivals (received_at) WHERE case_id IS NULL;
CREATE INDEX arrivals_received ON arrivals (received_at);

-- The state of every accepted alert, exactly one each, and the mute, the state or class, or who cancelled the triage.
CREATE VIEW alert_ledger AS
SELECT
    arrivals.id,
    CASE
        WHEN arrivals.dead_letter_id IS NOT NULL THEN 'dead_letter'
        WHEN arrivals.outcome NOT IN ('new', 'revision', 'replaced', 'resumed') THEN arrivals.outcome
        WHEN cancelled.id IS NOT NULL THEN 'cancelled'
        ELSE 'case'
    END AS state,
    CASE
        WHEN arrivals.outcome IN ('muted', 'set_aside') THEN arrivals.reason
        WHEN arrivals.dead_letter_id IS NULL AND arrivals.outcome IN ('new', 'revision', 'replaced', 'resumed')
            THEN coalesce(cancelled.cancelled_by, '')
        ELSE ''
    END AS reason,
    arrivals.key,
    arrivals.case_id
FROM arrivals
LEFT JOIN (
    SELECT cases.id, alerts.cancelled_by
    FROM cases
    JOIN alerts ON alerts.case_id = cases.id AND alerts.revision = cases.revision
    WHERE cases.status = 'cancelled'
) AS cancelled ON cancelled.id = arrivals.case_id;

-- What tool calls answered, numbered as in reports: it is stored once, in the journal. E0, the alert, is in `alerts`.
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
