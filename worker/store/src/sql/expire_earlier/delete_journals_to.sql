DELETE FROM journal
WHERE (case_id, revision, seq) IN (
    SELECT one.case_id, one.revision, one.seq
    FROM {pairs} AS ended
    JOIN journal AS one ON one.case_id = ended.case_id AND one.revision <= ended.revision
)
