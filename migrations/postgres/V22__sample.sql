-- No real alert joins what is about none. The version before leaves it as it is: its samples count in storms as they did.

ALTER TABLE cases ADD COLUMN sample boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN cases.sample IS 'A generated sample opened it: no part of any storm.';
