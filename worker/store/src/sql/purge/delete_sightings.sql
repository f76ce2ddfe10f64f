DELETE FROM sightings
WHERE id IN (
    SELECT one.id FROM sightings AS one
    WHERE one.case_id {in_list}
    LIMIT $2
)
