SELECT DISTINCT lease_holder FROM cases
WHERE status = 'running'
