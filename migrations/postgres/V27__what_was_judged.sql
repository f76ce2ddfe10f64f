-- What a person decided last about the same is looked for at each triage: by what was judged, and not by a look at each case of
-- the account and at the alerts of all that anybody decided there. Rows from before are filled by the next migration.

ALTER TABLE person_verdicts ADD COLUMN account text, ADD COLUMN type text;
COMMENT ON COLUMN person_verdicts.account IS 'Account of the alert that was judged. The database notes it, whichever program writes the row.';
COMMENT ON COLUMN person_verdicts.type IS 'Its finding type, noted likewise.';

CREATE FUNCTION note_what_was_judged() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    SELECT alert ->> 'account', alert ->> 'type' INTO NEW.account, NEW.type
        FROM alerts WHERE case_id = NEW.case_id AND revision = NEW.revision;
    RETURN NEW;
END
$$;
CREATE TRIGGER note_what_was_judged BEFORE INSERT ON person_verdicts FOR EACH ROW EXECUTE FUNCTION note_what_was_judged();
