INSERT INTO spending (day, case_id, urgent, usd) VALUES ($1, $2, $3, $4)
ON CONFLICT (day, case_id, urgent) DO UPDATE SET usd = spending.usd + excluded.usd
