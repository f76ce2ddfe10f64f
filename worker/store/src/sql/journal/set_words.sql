INSERT INTO case_words (case_id, words) VALUES ($1, $2)
ON CONFLICT (case_id) DO UPDATE SET words = excluded.words
