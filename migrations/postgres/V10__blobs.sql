-- Large messages may be kept as objects outside of the database ([blobs] url). What is noted here as loose is referred to
-- by no message: before its object is written, and after its message is gone. A program of the version before neither
-- writes nor reads blobs: turn them on when all run this version.

ALTER TABLE raw_alerts ADD COLUMN blob text COLLATE "C";
COMMENT ON COLUMN raw_alerts.blob IS 'Key of the object that holds the whole message, below [blobs] url; bytes is empty then.';

CREATE TABLE loose_blobs (
    key   text COLLATE "C" PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX loose_blobs_since ON loose_blobs (since);
COMMENT ON TABLE loose_blobs IS 'Objects that no message refers to. Workers remove those that are an hour old.';
COMMENT ON COLUMN loose_blobs.since IS 'When its writing began; 1970 where its message was removed.';

-- What was held up for half an hour refers to nothing any more: its object may be gone at its commit.
CREATE FUNCTION blob_is_owned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM loose_blobs WHERE key = NEW.blob AND since > clock_timestamp() - interval '30 minutes';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the blob % counts as an orphan: to accept its message took too long', NEW.blob
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER blob_is_owned AFTER INSERT ON raw_alerts
    FOR EACH ROW WHEN (NEW.blob IS NOT NULL) EXECUTE FUNCTION blob_is_owned();

CREATE FUNCTION blob_is_loose() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO loose_blobs (key, since) VALUES (OLD.blob, 'epoch');
    RETURN NULL;
END
$$;
CREATE TRIGGER blob_is_loose AFTER DELETE ON raw_alerts
    FOR EACH ROW WHEN (OLD.blob IS NOT NULL) EXECUTE FUNCTION blob_is_loose();
