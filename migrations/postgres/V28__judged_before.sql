-- On its own: nobody waits while the alerts of what was judged are read.

UPDATE person_verdicts AS judged SET account = alert ->> 'account', type = alert ->> 'type'
    FROM alerts WHERE alerts.case_id = judged.case_id AND alerts.revision = judged.revision;
CREATE INDEX person_verdicts_alike ON person_verdicts (account, type, decided_at, id) WHERE account IS NOT NULL;
