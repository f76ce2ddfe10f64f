-- Whether the journals of a case are removed: else every round of retention looks at all cases that it has been through. A
-- number and no flag: whoever triages a case again, also a worker of the version before, need not know of it.

ALTER TABLE cases ADD COLUMN journal_gone integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN cases.journal_gone IS 'Up to which revision retention has removed the journals; 0: none.';
CREATE INDEX cases_journals ON cases (concluded_at)
    WHERE status IN ('concluded', 'failed', 'cancelled') AND journal_gone < revision;
