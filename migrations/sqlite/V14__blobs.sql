-- Large messages may be kept as objects outside of the database ([blobs] url). What is noted here as loose is referred to
-- by no message: before its object is written, and after its message is gone.
ALTER TABLE raw_messages ADD COLUMN blob TEXT;

CREATE TABLE loose_blobs (
    key   TEXT PRIMARY KEY,
    since INTEGER NOT NULL -- seconds since 1970; 0 where its message was removed
) STRICT, WITHOUT ROWID;
CREATE INDEX loose_blobs_since ON loose_blobs (since);

CREATE TRIGGER blob_is_loose AFTER DELETE ON raw_messages WHEN old.blob IS NOT NULL
BEGIN
    INSERT INTO loose_blobs (key, since) VALUES (old.blob, 0);
END;
