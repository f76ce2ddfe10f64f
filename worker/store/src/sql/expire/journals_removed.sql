UPDATE cases SET journals_removed_to = revision
WHERE id {in_list}
