-- The last event that sightings told of: what the case triages next lasts until then, and so must what clears it.
ALTER TABLE cases ADD COLUMN last_event TEXT;
