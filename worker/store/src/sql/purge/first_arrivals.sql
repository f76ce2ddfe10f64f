-- A case that is half purged is still found by its account.
SELECT id, raw_id, case_id, dead_letter_id FROM arrivals
WHERE id IN (SELECT min(id) FROM arrivals WHERE case_id {in_list} GROUP BY case_id)
