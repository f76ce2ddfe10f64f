SELECT id, raw_id, case_id, dead_letter_id FROM arrivals
WHERE case_id {in_list} AND id {not_in_second}
LIMIT $3
