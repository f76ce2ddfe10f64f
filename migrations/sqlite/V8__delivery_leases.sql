-- The one process that serves a destination. `process` and `lease_until` are as those of the leases of cases: boot and
-- process, and seconds since the host was started.
CREATE TABLE served_destinations (
    destination TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    process     TEXT NOT NULL,
    lease_until REAL NOT NULL
) STRICT;

-- When a try began of which nobody knows how it ended: it may be shown. NULL: nothing is in doubt.
ALTER TABLE deliveries ADD COLUMN begun_at TEXT;
