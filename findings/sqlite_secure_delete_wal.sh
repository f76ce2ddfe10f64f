#!/usr/bin/env bash
# Where deleted rows remain with `PRAGMA secure_delete = ON` in WAL mode.
#
# Versions:  SQLite 3.54.1 (PyPI `apsw` 3.54.1.0)
# Guess:     with secure_delete the bytes of a deleted row are gone from the disk once the log is checkpointed
# Behaviour: the database file is overwritten with zeros, and `-wal` keeps the frames with the row, also behind a checkpoint
#            that moved every frame (FULL, RESTART), until later writes happen to cover them. Only TRUNCATE cuts the file.
# Seen:      after FULL: database False, log True
#            after RESTART: database False, log True
#            after TRUNCATE: database False, log False
#
# Needs python3 with venv and a few MB from PyPI. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
seen=$("$folder/env/bin/python" - "$folder" <<'PYTHON'
import pathlib
import sys

import apsw

folder = pathlib.Path(sys.argv[1])
for mode in ("FULL", "RESTART", "TRUNCATE"):
    path = folder / f"{mode}.db"
    db = apsw.Connection(str(path))
    for pragma in ("journal_mode = WAL", "secure_delete = ON"):
        list(db.execute(f"PRAGMA {pragma}"))
    db.execute("CREATE TABLE person (name TEXT)")
    db.execute("INSERT INTO person VALUES ('a name to be removed')")
    db.execute("DELETE FROM person")
    busy, frames, moved = next(db.execute(f"PRAGMA wal_checkpoint({mode})"))
    assert busy == 0 and frames == moved, (busy, frames, moved)
    found = [b"to be removed" in pathlib.Path(f"{path}{end}").read_bytes() for end in ("", "-wal")]
    print(f"after {mode}: database {found[0]}, log {found[1]}")
PYTHON
)
echo "$seen"
[[ $seen == "after FULL: database False, log True
after RESTART: database False, log True
after TRUNCATE: database False, log False" ]] || { echo "the behaviour has changed" >&2 && exit 1; }
