SELECT CAST(min(day) AS text) AS day FROM spending
WHERE case_id <> '' AND day < {sixty_days_ago}
