-- Selects a case whose triage of an alert from a source ended, unless the result is benign.
SELECT id FROM cases
JOIN alerts ON case_id = cases.id AND alerts.revision = cases.revision
WHERE id = $1 AND status IN ('concluded', 'failed') AND reason NOT IN ('asked', 'models_back')
    AND coalesce(verdict, '') NOT IN ('benign_true_positive', 'false_positive')
