-- Earlier cases that share a value are looked for from the newest on: a campaign puts one value into ten thousand cases, of
-- which fifty are looked at.
ALTER TABLE indicators ADD COLUMN noted_at TEXT NOT NULL DEFAULT '';
UPDATE indicators SET noted_at = (SELECT opened_at FROM cases WHERE cases.id = indicators.case_id);
-- What is merely related leads to no earlier case.
CREATE INDEX indicators_newest ON indicators (type, value, noted_at) WHERE role <> 'related';
