DELETE FROM journal
WHERE case_id {in_list}
