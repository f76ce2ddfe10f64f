UPDATE cases SET
    status = 'cancelled', epoch = epoch + 1, {count_event} crashes = 0, needs_model = false, lease_holder = NULL,
    lease_until = NULL, concluded_at = $2
WHERE id = $1
RETURNING epoch
