INSERT INTO conclusions (
    case_id, revision, concluded_at, verdict, leaning, reason, confidence, assessed_severity, report, epoch, status, usd
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, CAST($8 AS severity), $9, $10, $11,
    CAST($9 -> 'cost' ->> 'usd' AS double precision)
)
