-- Tests whether the alert of the latest revision is a generated sample. The subquery returns a value: for a set, the
-- planner of PostgreSQL would read all alerts once.
coalesce((
    SELECT CAST(alerts.alert -> 'state' -> 'sample' AS text) = 'true' FROM alerts
    WHERE alerts.case_id = cases.id AND alerts.revision = cases.revision
), false)
