-- Sums up the reserved cost of the calls that were started since the last claim of a case and have not ended. Calls
-- that the last claim found are charged already.
SELECT
    alert ->> 'severity' IN ('high', 'critical') AS urgent,
    sum(CAST(began.event -> 'reserved' ->> 'usd' AS double precision)) AS usd
FROM alerts
JOIN journal AS began
    ON began.case_id = alerts.case_id AND began.revision = alerts.revision AND began.kind = 'started'
WHERE alerts.case_id = $1 AND alerts.revision = $2
    AND began.seq > coalesce((
        SELECT max(since.seq) FROM journal AS since
        WHERE since.case_id = $1 AND since.revision = $2 AND since.kind IN ('claimed', 'time_up')
    ), 0)
    AND NOT EXISTS (
        SELECT 1 FROM journal AS ended
        WHERE ended.case_id = $1 AND ended.revision = $2 AND ended.command = began.command
            AND ended.kind IN ('finished', 'withdrawn') AND ended.seq > began.seq
    )
GROUP BY urgent
