DELETE FROM arrivals
WHERE id {in_list}
