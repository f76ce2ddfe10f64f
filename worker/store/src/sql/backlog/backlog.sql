SELECT
    {now} AS now,
    waiting.urgent,
    waiting.others,
    waiting.oldest,
    waiting.urgent_oldest,
    (SELECT count(*) FROM cases WHERE status = 'running') AS running,
    undelivered.reports,
    undelivered.oldest_report,
    (SELECT count(*) FROM dead_letters WHERE retried_at IS NULL) AS dead_letters
FROM (
    SELECT
        count(*) FILTER (WHERE severity >= {high}) AS urgent,
        count(*) FILTER (WHERE severity < {high}) AS others,
        min(waiting_since) AS oldest,
        min(waiting_since) FILTER (WHERE severity >= {high}) AS urgent_oldest
    FROM cases
    WHERE status = 'queued'
) AS waiting
CROSS JOIN (
    SELECT count(*) AS reports, min(requested_at) AS oldest_report FROM deliveries
    WHERE {is_undelivered}
) AS undelivered
