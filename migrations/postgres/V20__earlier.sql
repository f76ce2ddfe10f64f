-- Cases that were triaged again, whose earlier journals are still there: retention removes those by themselves, also while
-- the case goes on. On its own, as it is made while cases are written.

CREATE INDEX cases_earlier ON cases (opened_at, id) WHERE journal_gone < revision - 1;
