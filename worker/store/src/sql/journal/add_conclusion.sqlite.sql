INSERT INTO conclusions (
    case_id, revision, concluded_at, verdict, leaning, reason, confidence, assessed_severity, report
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
