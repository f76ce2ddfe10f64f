-- Selects those that still exist.
SELECT id, raw_id, case_id, dead_letter_id FROM arrivals
WHERE id {in_list}
