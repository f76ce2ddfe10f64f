-- The last conclusion stays, and those that a person judged.
SELECT one.case_id, one.revision FROM conclusions AS one
WHERE one.case_id {in_list} AND one.concluded_at < $2
    AND one.revision < (SELECT max(last.revision) FROM conclusions AS last WHERE last.case_id = one.case_id)
    AND NOT EXISTS (
        SELECT 1 FROM person_verdicts AS judged
        WHERE judged.case_id = one.case_id AND judged.revision = one.revision
    )
LIMIT $3
