SELECT count(*) AS dead_letters FROM dead_letters
WHERE received_at >= $1 AND received_at < $2
