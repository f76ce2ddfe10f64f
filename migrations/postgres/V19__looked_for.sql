-- What people look for among years of history: found without reading all of it. On its own, as it is made while cases are
-- written.

-- What waits for people, the most severe and oldest first: the digest names ten of it.
CREATE INDEX cases_waiting_for_people ON cases (coalesce(assessed_severity, severity) DESC, opened_at)
    WHERE desk <> 'closed' AND feed <> 'canary'
        AND (status = 'failed' OR (status = 'concluded' AND verdict IN ('true_positive', 'inconclusive')));

-- Few of all there are, and the first that the runbook has people look for: the newest.
CREATE INDEX cases_failed ON cases (opened_at DESC, id) WHERE status = 'failed';
