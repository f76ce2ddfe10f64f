UPDATE cases SET workflow_status = coalesce($2, workflow_status), owner = coalesce($3, owner)
WHERE id = $1
