-- What a mute would have hidden, and what ended on a day, is found by its time.
CREATE INDEX alerts_received ON alerts (received_at);
CREATE INDEX conclusions_concluded ON conclusions (concluded_at);
