-- Dead letters of a day, for the digest, and those that grew old. On its own: nothing but dead letters waits while it is made.

CREATE INDEX dead_letters_received ON dead_letters (received_at);
