-- Each half uses its own index. For an `IN`, the planner of PostgreSQL cannot see that the indexes cover it, and reads
-- the whole table.
SELECT CAST(severity AS text) AS severity, count(*) AS cases FROM cases
WHERE status = 'queued' OR status = 'running'
GROUP BY cases.severity
