-- Selects cases with journals before the last, and the last triage that ended before the time. A cancelled triage has
-- no conclusion; its journal goes with that of the next concluded one.
SELECT opened_at, id, (
    SELECT max(one.revision) FROM conclusions AS one
    WHERE one.case_id = cases.id AND one.revision > cases.journals_removed_to AND one.revision < cases.revision
        AND one.concluded_at < $1
) AS ended
FROM cases
WHERE journals_removed_to < revision - 1 AND opened_at < $1 AND (opened_at, id) > ($2, $3)
ORDER BY opened_at, id
LIMIT $4
