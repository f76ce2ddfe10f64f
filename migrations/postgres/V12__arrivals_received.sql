-- A day of the ledger, for the digest and whoever asks `places`. On its own: nothing but arrivals waits while it is made, and
-- what waits for too long is tried again.

CREATE INDEX arrivals_received ON arrivals (received_at);
