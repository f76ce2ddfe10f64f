-- A verdict stands while its case is triaged once more, and where that was called off: the digest names it as before.
DROP INDEX cases_waiting_for_people;
CREATE INDEX cases_waiting_for_people ON cases (coalesce(assessed_severity, severity) DESC, opened_at)
    WHERE desk <> 'closed' AND feed <> 'canary' AND (status = 'failed' OR verdict IN ('true_positive', 'inconclusive'));
