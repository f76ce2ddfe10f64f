SELECT state, reason, count(*) AS alerts FROM alert_ledger
WHERE received_at >= $1
GROUP BY state, reason
ORDER BY state COLLATE "C", reason COLLATE "C"
