SELECT
    v.id, v.case_id, s.key, s.feed, s.type, s.account, CAST(s.severity AS text) AS severity,
    conclusions.verdict AS case_verdict, {conclusion_status} AS case_status,
    v.decided_at, v.decided_by, v.revision, v.verdict, v.agreed, v.note
FROM person_verdicts v
JOIN cases s ON s.id = v.case_id
LEFT JOIN conclusions ON conclusions.case_id = v.case_id AND conclusions.revision = v.revision
WHERE v.id > $1
ORDER BY v.id
LIMIT $2
