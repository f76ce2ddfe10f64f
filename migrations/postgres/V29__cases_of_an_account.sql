-- Lists of an account begin with its newest case. On its own: nothing but cases waits while it is made.

CREATE INDEX cases_account_opened ON cases (account, opened_at DESC, id) WHERE account IS NOT NULL;
DROP INDEX cases_account;
