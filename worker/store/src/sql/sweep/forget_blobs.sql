DELETE FROM orphaned_blobs
WHERE key {in_list}
