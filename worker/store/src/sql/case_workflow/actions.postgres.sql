SELECT case_id, at, actor, action, detail, muted_until, note FROM case_actions
WHERE case_id = ANY($1)
ORDER BY id
