-- What a run cost, beside its report: the digest sums it up without reading the reports of a day.

ALTER TABLE conclusions ADD COLUMN usd double precision;
COMMENT ON COLUMN conclusions.usd IS 'What the models cost in this run; null where a version before wrote it: then it is in the report alone.';
