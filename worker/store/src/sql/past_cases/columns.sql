cases.id, key, type, account, opened_at, CAST(severity AS text) AS severity, status,
    CASE WHEN status <> 'failed' AND NOT {leftover} THEN verdict END AS verdict, '[]' AS numbers,
    (SELECT p.verdict FROM person_verdicts p WHERE p.case_id = cases.id ORDER BY p.id DESC LIMIT 1) AS person_verdict,
    '[]' AS failed_tools
