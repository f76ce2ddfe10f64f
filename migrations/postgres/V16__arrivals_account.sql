-- What came of an account, for whoever has all of it removed. On its own: nothing but arrivals waits while it is made.

CREATE INDEX arrivals_account ON arrivals (account, id) WHERE account IS NOT NULL;
