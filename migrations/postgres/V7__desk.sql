-- What people do with cases, and what destinations show: enough to say what changed.

CREATE TABLE acts (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    case_id text COLLATE "C" NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    at      timestamptz NOT NULL,
    by_whom text NOT NULL,
    act     text NOT NULL,
    about   text,
    until   timestamptz,
    note    text NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX acts_once ON acts (case_id, at, by_whom, act);
CREATE INDEX acts_case ON acts (case_id, id);
COMMENT ON TABLE acts IS 'What people did with cases, as they did it.';
COMMENT ON COLUMN acts.act IS 'acknowledged, assigned, agreed, disagreed, asked_again, muted, closed.';
COMMENT ON COLUMN acts.about IS 'Whom it was assigned to, their verdict, or the name of the mute.';
COMMENT ON COLUMN acts.until IS 'When the mute ends.';
INSERT INTO acts (case_id, at, by_whom, act, about, note)
SELECT case_id, decided_at, decided_by, CASE WHEN agreed THEN 'agreed' ELSE 'disagreed' END,
    CASE WHEN agreed THEN NULL ELSE verdict END, note
FROM person_verdicts ORDER BY id ON CONFLICT DO NOTHING;

ALTER TABLE cases ADD COLUMN desk text NOT NULL DEFAULT 'open', ADD COLUMN owner text;
COMMENT ON COLUMN cases.desk IS 'Where it stands with people: open, acknowledged, closed.';
COMMENT ON COLUMN cases.owner IS 'Who has it.';
CREATE INDEX cases_desk ON cases (desk, opened_at DESC) WHERE desk <> 'closed';

ALTER TABLE deliveries ADD COLUMN major bigint NOT NULL DEFAULT 0, ADD COLUMN shown jsonb, ADD COLUMN sent_at timestamptz;
UPDATE deliveries SET major = wanted;
COMMENT ON COLUMN deliveries.major IS 'The newest version that says something new: in those after it only counts and people''s acts changed.';
COMMENT ON COLUMN deliveries.shown IS 'What it shows: revision, status, verdict, leaning, severity, urgency, sightings.';
COMMENT ON COLUMN deliveries.sent_at IS 'When it was sent last.';

CREATE TABLE digests (
    destination text NOT NULL,
    day         date NOT NULL,
    begun_at    timestamptz NOT NULL,
    sent_at     timestamptz,
    PRIMARY KEY (destination, day)
);
COMMENT ON TABLE digests IS 'Which daily digests are posted, or were begun.';
