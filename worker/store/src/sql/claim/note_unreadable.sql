INSERT INTO unreadable_journals (case_id, revision, version, error, noted_at) VALUES ($1, $2, $3, $4, {now})
ON CONFLICT (case_id, revision) DO UPDATE SET
    version = {greatest}(unreadable_journals.version, excluded.version), error = excluded.error,
    noted_at = excluded.noted_at
