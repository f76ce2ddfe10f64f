-- Counts by index, and for each mute no further than is shown, because a flood has millions of hits.
SELECT name, hits.count, last.received_at
FROM unnest($1::text[]) AS name
CROSS JOIN LATERAL (
    SELECT count(*) FROM (SELECT FROM arrivals WHERE outcome = 'muted' AND reason = name LIMIT $2) AS those
) AS hits
CROSS JOIN LATERAL (
    SELECT received_at FROM arrivals WHERE outcome = 'muted' AND reason = name ORDER BY received_at DESC LIMIT 1
) AS last
