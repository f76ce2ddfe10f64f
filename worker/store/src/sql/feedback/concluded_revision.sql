-- A waiting or running revision has no verdict yet.
SELECT max(revision) AS revision FROM conclusions
WHERE case_id = $1
