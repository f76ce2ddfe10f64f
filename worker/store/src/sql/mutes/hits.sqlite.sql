-- Counts by index, and for each mute no further than is shown, because a flood has millions of hits.
SELECT
    name.value AS name,
    (SELECT count(*) FROM (SELECT 1 FROM arrivals WHERE outcome = 'muted' AND reason = name.value LIMIT $2)) AS count,
    last.received_at
FROM json_each($1) AS name
JOIN arrivals AS last ON last.id = (
    SELECT id FROM arrivals WHERE outcome = 'muted' AND reason = name.value ORDER BY id DESC LIMIT 1
)
