-- The last verdict of a person, if it differs from that of the case.
(
    SELECT theirs.detail FROM case_actions AS theirs
    WHERE theirs.case_id = cases.id AND theirs.action = 'disagreed' AND theirs.detail IS DISTINCT FROM cases.verdict
        AND NOT EXISTS (
            SELECT 1 FROM case_actions AS later
            WHERE later.case_id = theirs.case_id AND later.id > theirs.id AND later.action IN ('agreed', 'disagreed')
        )
    ORDER BY theirs.id DESC
    LIMIT 1
)
