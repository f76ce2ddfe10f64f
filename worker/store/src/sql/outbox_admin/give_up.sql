UPDATE deliveries SET given_up = true, retry_at = NULL, error = $3
WHERE case_id {in_list} AND destination = $2 AND {is_undelivered}
