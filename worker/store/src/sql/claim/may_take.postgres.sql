-- Matches a case that this version can read, and that has waited long enough.
NOT EXISTS (
    SELECT FROM unreadable_journals AS unread
    WHERE unread.case_id = cases.id AND unread.revision = cases.revision AND unread.version >= $3
)
AND (
    $5 IS NULL OR feed = 'canary'
    OR waiting_since <= clock_timestamp() - make_interval(secs => CASE WHEN cases.severity >= 'high' THEN $5 ELSE $6 END)
)
