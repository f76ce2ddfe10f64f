DELETE FROM sightings
WHERE id IN (
    SELECT one.id FROM sightings AS one
    WHERE one.case_id {in_list} AND one.received_at < $2
    LIMIT $3
)
RETURNING case_id
