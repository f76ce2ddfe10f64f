-- What cases cost, by the UTC day on which it was settled: the sum of a day is what the day's budget counts.
-- `urgent`: the alert was high or critical. No reference to the case: what was paid for stays counted without it.
CREATE TABLE spending (
    day     TEXT NOT NULL,
    case_id TEXT NOT NULL,
    urgent  INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    usd     REAL NOT NULL,
    PRIMARY KEY (day, case_id, urgent)
) STRICT, WITHOUT ROWID;
