-- On its own: nothing but cases waits while it is made.

CREATE INDEX cases_recheck ON cases (recheck_at) WHERE status = 'concluded' AND recheck_at IS NOT NULL;
