DELETE FROM dead_letters
WHERE id {in_list}
