-- Selects the last verdict of a person about a case of the account and type in which one of the actors of $4 has the
-- same role. It examines the newest $3 verdicts. Alerts are large. They are read one by one until one has one of the
-- actors, and only for cases that have such an actor at all.
SELECT v.case_id, v.verdict, v.decided_by, v.decided_at, a.alert
FROM (
    SELECT * FROM person_verdicts AS one
    WHERE account = $1 AND type = $2
        AND id = (SELECT max(id) FROM person_verdicts WHERE case_id = one.case_id)
    ORDER BY decided_at DESC, id DESC
    LIMIT $3
) AS v
JOIN alerts a ON a.case_id = v.case_id AND a.revision = v.revision
WHERE CASE
    WHEN EXISTS (
        SELECT 1 FROM indicators i
        JOIN jsonb_to_recordset($4) AS actor (type text, value text, role text)
            ON i.type = actor.type AND i.value = actor.value AND i.role = actor.role
        WHERE i.case_id = v.case_id
    ) THEN EXISTS (
        SELECT 1 FROM jsonb_array_elements(a.alert -> 'indicators') AS i
        JOIN jsonb_to_recordset($4) AS actor (type text, value text, role text)
            ON i ->> 'type' = actor.type AND i ->> 'value' = actor.value AND i ->> 'role' = actor.role
    )
    ELSE false
END
ORDER BY v.decided_at DESC, v.id DESC
LIMIT 1
