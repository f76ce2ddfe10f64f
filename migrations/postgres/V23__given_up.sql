-- What was given up on a day, for the digest. On its own: nothing but deliveries waits while it is made.

CREATE INDEX deliveries_given_up ON deliveries (wished_at) WHERE given_up;
