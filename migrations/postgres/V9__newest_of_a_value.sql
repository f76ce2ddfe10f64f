-- Earlier cases that share a value are looked for from the newest on: a campaign puts one value into ten thousand cases, of
-- which fifty are looked at. Rows from before this migration count as noted when it ran.

ALTER TABLE indicators ADD COLUMN noted_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN indicators.noted_at IS 'When the alert that holds it was accepted.';
-- What is merely related leads to no earlier case, so the index leaves it out. The version before reads by this one too.
CREATE INDEX indicators_newest ON indicators (hashtextextended(value, 0), noted_at) WHERE role <> 'related';
DROP INDEX indicators_value;
