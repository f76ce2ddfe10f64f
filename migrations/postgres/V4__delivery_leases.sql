-- Which process serves a destination, and which tries to deliver have begun and nothing was heard of since.

CREATE TABLE served_destinations (
    destination text PRIMARY KEY,
    holder      text NOT NULL,
    lease_until timestamptz NOT NULL
);
COMMENT ON TABLE served_destinations IS 'The one process that serves a destination: order and rate are those of all reports to it.';
COMMENT ON COLUMN served_destinations.lease_until IS 'When the lease ends without a renewal, by this database''s clock.';

ALTER TABLE deliveries ADD COLUMN begun_at timestamptz;
COMMENT ON COLUMN deliveries.begun_at IS 'When a try began of which nobody knows how it ended: it may be shown. The destination is asked before it is sent again. Null: nothing is in doubt.';
COMMENT ON COLUMN deliveries.attempts IS 'Tries since the last one that succeeded, counted when they begin.';
