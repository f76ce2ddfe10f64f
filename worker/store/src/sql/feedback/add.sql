-- A verdict that is sent again because its answer was lost exists already.
INSERT INTO person_verdicts (case_id, revision, decided_at, decided_by, verdict, agreed, note)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE NOT EXISTS (
    SELECT 1 FROM person_verdicts
    WHERE case_id = $1 AND decided_at = $3 AND decided_by = $4 AND verdict = $5
)
