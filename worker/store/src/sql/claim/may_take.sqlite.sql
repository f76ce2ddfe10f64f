-- Matches a case that this version can read, and that has waited long enough. The waiting time is an absolute value: a
-- case from before the clock was set back waits at most twice as long.
NOT EXISTS (
    SELECT 1 FROM unreadable_journals AS unread
    WHERE unread.case_id = cases.id AND unread.revision = cases.revision AND unread.version >= $3
)
AND (
    $5 IS NULL OR feed = 'canary'
    OR abs(unixepoch('now', 'subsec') - unixepoch(waiting_since, 'subsec')) >= CASE WHEN severity >= 3 THEN $5 ELSE $6 END
)
