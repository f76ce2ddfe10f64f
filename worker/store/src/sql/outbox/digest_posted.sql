UPDATE digests SET sent_at = {now}
WHERE destination = $1 AND day = $2
