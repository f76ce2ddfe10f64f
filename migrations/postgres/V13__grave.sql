-- What is grave and nobody's is asked for with every look at the newest cases: in a year of history that must not read all
-- of it. The severity is the one that lists show. On its own, as it is made while cases are written.

CREATE INDEX cases_grave ON cases (opened_at DESC, id)
    WHERE desk = 'open' AND (status IN ('queued', 'running', 'failed') OR verdict IN ('true_positive', 'inconclusive'))
        AND CASE WHEN status IN ('concluded', 'failed') THEN coalesce(assessed_severity, severity)
            ELSE greatest(severity, assessed_severity) END >= 'high';
