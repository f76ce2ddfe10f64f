-- The same action again, after a lost answer or a double click, is a duplicate.
INSERT INTO case_actions (case_id, at, actor, action, detail, muted_until, note)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
