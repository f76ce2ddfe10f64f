-- Sightings are not triaged, but what they say of time is: a record clears what happened only while it holds.

ALTER TABLE cases ADD COLUMN first_event timestamptz;
ALTER TABLE cases ADD COLUMN last_event timestamptz;
COMMENT ON COLUMN cases.first_event IS 'The first event that sightings told of since the case was cleared last: what it triages next begins then.';
COMMENT ON COLUMN cases.last_event IS 'The last one: what the case triages next lasts until then, and so must what clears it.';
