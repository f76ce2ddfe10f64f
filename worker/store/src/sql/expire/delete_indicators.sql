DELETE FROM indicators
WHERE case_id {in_list}
