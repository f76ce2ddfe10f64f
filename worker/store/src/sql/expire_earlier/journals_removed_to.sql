UPDATE cases SET journals_removed_to = $2
WHERE id = $1 AND journals_removed_to < $2
