-- Selects cases whose reports have some of the words of $1, the best match first. Only the newest cases are ranked,
-- because frequent words are in almost all of them.
WITH recent AS MATERIALIZED (
    SELECT rowid AS number, rank FROM case_words_index
    WHERE case_words_index MATCH replace($1, ' ', ' OR ')
    ORDER BY rowid DESC
    LIMIT 1000
)
SELECT {columns}, case_words.words FROM recent
JOIN case_words ON case_words.number = recent.number
JOIN cases ON cases.id = case_words.case_id
WHERE cases.id <> $2 AND opened_at >= coalesce($4, '')
ORDER BY recent.rank, cases.opened_at DESC, cases.id
LIMIT $3
