SELECT
    coalesce(sum(usd) FILTER (WHERE urgent), 0) AS urgent_usd,
    coalesce(sum(usd) FILTER (WHERE NOT urgent), 0) AS other_usd
FROM spending
WHERE day = $1
