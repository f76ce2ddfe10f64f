-- Concluded without a model because all were down: triaged again when they are back.
ALTER TABLE cases ADD COLUMN wants_model INTEGER NOT NULL DEFAULT 0 CHECK (wants_model IN (0, 1));
CREATE INDEX cases_wants_model ON cases (severity, concluded_at) WHERE wants_model;
