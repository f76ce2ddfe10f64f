-- What is grave and nobody's is asked for with every look at the newest cases. The severity is the one that lists show.
CREATE INDEX cases_grave ON cases (opened_at DESC, id)
    WHERE desk = 'open' AND (status IN ('queued', 'running', 'failed') OR verdict IN ('true_positive', 'inconclusive'))
        AND CASE WHEN status IN ('concluded', 'failed') THEN coalesce(assessed_severity, severity)
            ELSE max(severity, coalesce(assessed_severity, severity)) END >= 3;
