UPDATE cases SET crashes = {greatest}(crashes - 1, 0)
WHERE id = $1 AND revision = $2
