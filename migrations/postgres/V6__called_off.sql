-- Who called a triage off. An alert whose case was called off is in a place of its own.

ALTER TABLE alerts ADD COLUMN cancelled_by text;
COMMENT ON COLUMN alerts.cancelled_by IS 'Who called this triage off; null: nobody did.';
CREATE INDEX cases_cancelled ON cases (id) WHERE status = 'cancelled';

CREATE OR REPLACE VIEW places AS
SELECT
    arrivals.id,
    arrivals.received_at,
    CASE
        WHEN arrivals.dead_letter_id IS NOT NULL THEN 'dead_letter'
        WHEN arrivals.outcome NOT IN ('new', 'revision', 'replaced', 'resumed') THEN arrivals.outcome
        WHEN called_off.id IS NOT NULL THEN 'cancelled'
        ELSE 'case'
    END AS place,
    CASE
        WHEN arrivals.outcome IN ('muted', 'set_aside') THEN arrivals.why
        WHEN arrivals.dead_letter_id IS NULL AND arrivals.outcome IN ('new', 'revision', 'replaced', 'resumed')
            THEN coalesce(called_off.cancelled_by, '')
        ELSE ''
    END AS why,
    arrivals.key,
    arrivals.case_id
FROM arrivals
LEFT JOIN (
    SELECT cases.id, alerts.cancelled_by
    FROM cases
    JOIN alerts ON alerts.case_id = cases.id AND alerts.revision = cases.revision
    WHERE cases.status = 'cancelled'
) AS called_off ON called_off.id = arrivals.case_id;
COMMENT ON VIEW places IS 'Where every accepted alert is, each in exactly one place: case, sighting, member, muted, set_aside, cancelled, dead_letter.';
COMMENT ON COLUMN places.why IS 'The mute, the state or class, or who cancelled it.';
