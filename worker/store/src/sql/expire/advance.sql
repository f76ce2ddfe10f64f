-- A clock may have jumped ahead, so retention advances at most a day per run.
INSERT INTO retention_clock (singleton, reached_at) VALUES ({singleton}, {earlier_clock})
ON CONFLICT (singleton) DO UPDATE SET reached_at = CASE
    WHEN excluded.reached_at < {a_day_later} THEN excluded.reached_at
    ELSE {a_day_later}
END
RETURNING reached_at
