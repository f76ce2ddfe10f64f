-- Sightings are not triaged, but what they say of time is: a record clears what goes on only while it holds.

ALTER TABLE cases ADD COLUMN last_event timestamptz;
COMMENT ON COLUMN cases.last_event IS 'The last event that sightings told of: what the case triages next lasts until then, and so must what clears it.';
