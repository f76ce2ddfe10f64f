UPDATE deliveries SET
    sent_version = CASE WHEN sent_version < $3 THEN $3 ELSE sent_version END,
    remote_id = coalesce($4, remote_id),
    shown = coalesce($5, shown),
    sent_at = {now},
    begun_at = NULL,
    attempts = 0,
    error = NULL,
    retry_at = CASE WHEN wanted_version > $3 AND major_version <= $3 THEN {in_a_minute} END
WHERE case_id = $1 AND destination = $2
