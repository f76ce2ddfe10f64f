-- Alerts that come for a case which people are done with leave a word among what people did.

COMMENT ON COLUMN acts.act IS 'acknowledged, assigned, agreed, disagreed, asked_again, muted, closed; reopened: by_whom is the source whose alert opened the case again.';
