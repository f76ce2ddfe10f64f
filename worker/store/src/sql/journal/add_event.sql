INSERT INTO journal (case_id, revision, seq, epoch, at, kind, command, event)
VALUES (
    $1, $2, (SELECT coalesce(max(seq), 0) + 1 FROM journal WHERE case_id = $1 AND revision = $2), $3, $4, $5, $6, $7
)
