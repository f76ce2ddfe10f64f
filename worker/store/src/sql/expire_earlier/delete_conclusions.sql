DELETE FROM conclusions
WHERE (case_id, revision) IN (SELECT old.case_id, old.revision FROM {pairs} AS old)
