INSERT INTO digests (destination, day, begun_at) VALUES ($1, $2, {now})
ON CONFLICT DO NOTHING
