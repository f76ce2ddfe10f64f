UPDATE cases SET usd = usd + $2
WHERE id = $1
