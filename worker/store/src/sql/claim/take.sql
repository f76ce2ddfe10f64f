UPDATE cases SET status = 'running', epoch = epoch + 1, lease_holder = $2, {lease}
WHERE id = $1 AND status = 'queued'
RETURNING epoch, crashes
