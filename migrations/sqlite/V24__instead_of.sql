-- Who reads a report where it was handed on to is told where it does not stand.
-- The destinations that do not show the report, and why, as JSON; null where it stands here for its own sake.
ALTER TABLE deliveries ADD COLUMN instead_of TEXT;
