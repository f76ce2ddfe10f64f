-- Selects cases whose reports have some of the words of $1, the best match first. Only the newest cases are ranked,
-- because frequent words are in almost all of them.
WITH recent AS MATERIALIZED (
    SELECT case_id, words, ts_rank(lexemes, to_tsquery('simple', replace($1, ' ', ' | '))) AS rank
    FROM case_words
    WHERE lexemes @@ to_tsquery('simple', replace($1, ' ', ' | ')) AND case_id <> $2
    ORDER BY number DESC
    LIMIT 1000
)
SELECT {columns}, recent.words FROM recent
JOIN cases ON cases.id = recent.case_id
WHERE opened_at >= coalesce(CAST($4 AS timestamptz), '-infinity')
ORDER BY recent.rank DESC, cases.opened_at DESC, cases.id
LIMIT $3
