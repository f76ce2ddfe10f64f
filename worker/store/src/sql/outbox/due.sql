-- Selects due deliveries. Reports are read for the selected rows only, however many wait. The rank is a subquery and
-- not a join: the planner of PostgreSQL cannot know how few rows are due, and would read all cases. No wait is longer
-- than an hour (`nightshift_pipeline::delivery::MAX_WAIT`); a longer one comes from a clock that was set back since.
SELECT
    d.case_id, d.wanted_version, d.remote_id, d.attempts, {now} AS now, d.begun_at,
    d.sent_version >= d.major_version AS is_minor, d.shown, d.instead_of,
    s.sightings, s.members, s.revision, s.status, s.opened_at, a.cancelled_by,
    (SELECT report FROM conclusions WHERE case_id = d.case_id ORDER BY revision DESC LIMIT 1) AS report,
    CASE WHEN NOT EXISTS (SELECT 1 FROM conclusions WHERE case_id = d.case_id) THEN a.alert END AS alert
FROM (
    SELECT
        d.*,
        (
            SELECT CASE s.feed WHEN 'canary' THEN s.severity ELSE coalesce(s.assessed_severity, s.severity) END
            FROM cases s
            WHERE s.id = d.case_id
        ) AS rank
    FROM deliveries d
    WHERE d.destination = $1 AND d.sent_version < d.wanted_version AND NOT d.given_up
        AND (d.retry_at IS NULL OR d.retry_at <= {now} OR d.retry_at > {in_an_hour})
    ORDER BY d.sent_version >= d.major_version, rank DESC, d.requested_at, d.case_id
    LIMIT $2
) AS d
JOIN cases s ON s.id = d.case_id
JOIN alerts a ON a.case_id = s.id AND a.revision = s.revision
ORDER BY d.sent_version >= d.major_version, d.rank DESC, d.requested_at, d.case_id
