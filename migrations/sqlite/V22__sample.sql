-- No real alert joins what is about none.
-- A generated sample opened it: no part of any storm.
ALTER TABLE cases ADD COLUMN sample INTEGER NOT NULL DEFAULT 0;
