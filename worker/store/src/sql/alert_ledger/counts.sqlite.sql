SELECT state, alert_ledger.reason, count(*) AS alerts
FROM arrivals
JOIN alert_ledger ON alert_ledger.id = arrivals.id
WHERE arrivals.received_at >= $1
GROUP BY state, alert_ledger.reason
ORDER BY state, alert_ledger.reason
