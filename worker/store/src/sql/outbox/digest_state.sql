SELECT sent_at IS NOT NULL AS is_posted FROM digests
WHERE destination = $1 AND day = $2
