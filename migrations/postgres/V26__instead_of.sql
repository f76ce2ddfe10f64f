-- Who reads a report where it was handed on to is told where it does not stand. The version before neither fills nor reads it.

ALTER TABLE deliveries ADD COLUMN instead_of jsonb;
COMMENT ON COLUMN deliveries.instead_of IS 'The destinations that do not show the report, and why; null where it stands here for its own sake.';
