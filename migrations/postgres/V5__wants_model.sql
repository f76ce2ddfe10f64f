-- Cases that were concluded by rules because the models were down: they are triaged again when those are back.

ALTER TABLE cases ADD COLUMN wants_model boolean NOT NULL DEFAULT false;
CREATE INDEX cases_wants_model ON cases (severity, concluded_at) WHERE wants_model;
COMMENT ON COLUMN cases.wants_model IS 'Concluded without a model because all were down: triaged again when they are back.';
COMMENT ON COLUMN alerts.why IS 'Why it was triaged again: what was new, asked (somebody asked for it), models_back; null for the first.';
