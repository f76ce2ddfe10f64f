-- Up to which revision retention has removed the journals of a case; 0: none. A number and no flag: whoever triages a case
-- again, also a program of the version before, need not know of it.
ALTER TABLE cases ADD COLUMN journal_gone INTEGER NOT NULL DEFAULT 0;
CREATE INDEX cases_journals ON cases (concluded_at)
    WHERE status IN ('concluded', 'failed', 'cancelled') AND journal_gone < revision;
