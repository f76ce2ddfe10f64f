-- The last arrival stays.
DELETE FROM arrivals
WHERE id IN (
    SELECT one.id
    FROM (SELECT case_id, max(id) AS id FROM arrivals WHERE case_id {in_list} GROUP BY case_id) AS newest
    JOIN arrivals AS one ON one.case_id = newest.case_id AND one.id < newest.id
    WHERE one.received_at < $2
    LIMIT $3
)
RETURNING case_id, raw_id
