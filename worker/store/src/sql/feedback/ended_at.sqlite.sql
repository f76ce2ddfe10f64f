-- A true positive after $1 revokes earlier verdicts about any of its subjects, which are those of $3: within its
-- account, and everywhere for values that mean the same in all accounts.
SELECT min(v.decided_at) AS ended_at
FROM person_verdicts v
WHERE v.verdict = 'true_positive' AND v.decided_at > $1
    AND v.id = (SELECT max(id) FROM person_verdicts WHERE case_id = v.case_id)
    AND EXISTS (
        SELECT 1 FROM indicators i
        JOIN json_each($3) AS subject
            ON i.type = subject.value ->> 'type' AND i.value = subject.value ->> 'value'
        WHERE i.case_id = v.case_id AND i.role <> 'related'
            AND (v.account = $2 OR i.type IN ('ip', 'domain', 'url', 'email', 'hash', 'access_key', 'arn'))
    )
