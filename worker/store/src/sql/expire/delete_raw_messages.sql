DELETE FROM raw_messages
WHERE id {in_list}
