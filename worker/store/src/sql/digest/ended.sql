-- Counts the cases by their last conclusion, and sums the model costs of all their runs.
SELECT status, verdict, count(*) FILTER (WHERE is_last) AS cases, coalesce(sum(usd), 0) AS usd
FROM (
    SELECT
        {conclusion_status} AS status,
        conclusions.verdict,
        {usd} AS usd,
        conclusions.revision = max(conclusions.revision) OVER (PARTITION BY conclusions.case_id) AS is_last
    FROM conclusions
    JOIN cases ON cases.id = conclusions.case_id
    WHERE conclusions.concluded_at >= $1 AND conclusions.concluded_at < $2 AND feed <> 'canary'
) AS runs
GROUP BY status, verdict
