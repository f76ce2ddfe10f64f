SELECT destination, count(*) AS reports, min(requested_at) AS since FROM deliveries
WHERE {is_undelivered}
GROUP BY destination
ORDER BY destination
