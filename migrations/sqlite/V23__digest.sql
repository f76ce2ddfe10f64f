-- What was given up, and dead letters, of a day: for the digest, and for what grew old.
CREATE INDEX deliveries_given_up ON deliveries (wished_at) WHERE given_up = 1;
CREATE INDEX dead_letters_received ON dead_letters (received_at);
