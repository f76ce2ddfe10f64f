-- Selects cases whose alert names this value in a role other than related. The first column of the index is the type.
SELECT case_id FROM indicators
WHERE type IN (SELECT value FROM json_each($14)) AND indicators.value IN ($12, $13) AND role <> 'related'
