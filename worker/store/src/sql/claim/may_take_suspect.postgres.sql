SELECT pg_try_advisory_xact_lock(7226001, hashtext($1)) AS may_take_suspect
