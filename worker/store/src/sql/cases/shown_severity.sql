-- The severity that `CaseRow::shown_severity` returns. The index of high-priority cases has the same expression.
CASE WHEN status IN ('concluded', 'failed') THEN coalesce(assessed_severity, severity) ELSE {greatest} END
