-- What a person decided last about the same is looked for at each triage: by what was judged, and not by a look at each case of
-- the account and at the alerts of all that anybody decided there.

-- Account and finding type of the alert that was judged. The database notes them, whichever program writes the row.
ALTER TABLE person_verdicts ADD COLUMN account TEXT;
ALTER TABLE person_verdicts ADD COLUMN type TEXT;
UPDATE person_verdicts SET (account, type) = (SELECT alert ->> '$.account', alert ->> '$.type' FROM alerts
    WHERE alerts.case_id = person_verdicts.case_id AND alerts.revision = person_verdicts.revision);
CREATE INDEX person_verdicts_alike ON person_verdicts (account, type, decided_at, id) WHERE account IS NOT NULL;
CREATE TRIGGER person_verdicts_note_what_was_judged AFTER INSERT ON person_verdicts BEGIN
    UPDATE person_verdicts SET (account, type) = (SELECT alert ->> '$.account', alert ->> '$.type' FROM alerts
        WHERE alerts.case_id = NEW.case_id AND alerts.revision = NEW.revision)
    WHERE id = NEW.id;
END;
