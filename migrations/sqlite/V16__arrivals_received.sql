-- A day of the ledger, for the digest.
CREATE INDEX arrivals_received ON arrivals (received_at);
