SELECT DISTINCT raw_id FROM arrivals
WHERE case_id {in_list}
