UPDATE deliveries SET shown = NULL
WHERE destination = $1 AND shown IS NOT NULL
