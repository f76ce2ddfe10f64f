SELECT revision, seq, epoch, event FROM journal
WHERE case_id = $1 AND ($2 IS NULL OR revision = $2)
ORDER BY revision, seq
