-- Changes no row if the registers have the same fingerprint.
INSERT INTO registers (singleton, fingerprint, changed_at) VALUES ({singleton}, $1, $2)
ON CONFLICT (singleton) DO UPDATE SET fingerprint = excluded.fingerprint, changed_at = excluded.changed_at
WHERE registers.fingerprint <> excluded.fingerprint
