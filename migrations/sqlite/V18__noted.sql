-- The first and the last event that sightings told of since the case was cleared last: what it triages next begins and lasts
-- so, and so must what clears it.
ALTER TABLE cases ADD COLUMN first_event TEXT;
ALTER TABLE cases ADD COLUMN last_event TEXT;
