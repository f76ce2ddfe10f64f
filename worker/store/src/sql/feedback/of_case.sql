SELECT decided_at, decided_by, revision, verdict, agreed, note FROM person_verdicts
WHERE case_id = $1
ORDER BY id DESC
