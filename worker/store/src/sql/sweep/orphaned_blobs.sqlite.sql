SELECT key FROM orphaned_blobs
WHERE since < unixepoch() - 3600
ORDER BY since
LIMIT $1
