-- Deletes those of the messages that are kept for longer than their arrivals, because nothing could find them any more.
-- All arrivals of a message have its time.
DELETE FROM raw_messages AS raw
WHERE raw.id {in_list}
    AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE dead_letters.raw_id = raw.id)
    AND NOT EXISTS (
        SELECT 1 FROM arrivals AS other
        WHERE other.received_at = raw.received_at AND other.raw_id = raw.id
    )
