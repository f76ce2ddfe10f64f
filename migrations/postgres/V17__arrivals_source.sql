-- When each source brought something last, for the digest. On its own: nothing but arrivals waits while it is made.

CREATE INDEX arrivals_source ON arrivals (source, received_at);
