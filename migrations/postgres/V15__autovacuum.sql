-- Rows of these two change at every turn and at every delivery, in a table that keeps years. A fifth of it, the usual
-- share, is far too late: what is dead stands in the indexes over what waits, and every claim reads through it. The indexes
-- are cleaned each time, however few pages have something dead in them.

ALTER TABLE cases SET (
    autovacuum_vacuum_scale_factor = 0.005,
    autovacuum_vacuum_threshold = 50000,
    vacuum_index_cleanup = on
);
ALTER TABLE deliveries SET (
    autovacuum_vacuum_scale_factor = 0.005,
    autovacuum_vacuum_threshold = 50000,
    vacuum_index_cleanup = on
);
