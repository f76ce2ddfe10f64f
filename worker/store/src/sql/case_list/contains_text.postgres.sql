-- Only ASCII letters are compared without case, as SQLite does.
strpos(lower(concat_ws(E'\n', title, type, key, id) COLLATE "C"), lower($7 COLLATE "C")) > 0
