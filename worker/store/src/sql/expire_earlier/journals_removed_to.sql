UPDATE cases SET journals_removed_to = ended.revision
FROM {pairs} AS ended
WHERE cases.id = ended.case_id AND journals_removed_to < ended.revision
