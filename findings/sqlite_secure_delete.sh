#!/usr/bin/env bash
# Where parts of deleted rows remain with `PRAGMA secure_delete = ON`.
#
# Versions:  SQLite 3.54.1 (PyPI `apsw` 3.54.1.0)
# Guess:     the content of a deleted row is overwritten with zeros, so that neither the database file nor, after a checkpoint,
#            the log beside it holds the row
# Behaviour: 1. The row is overwritten where it is. SQLite moves rows when it balances pages, and leaves parts of them in the
#            unused middle of a page: for some orders of insertion and deletion, the database file keeps parts of deleted rows.
#            Only VACUUM removes them.
#            2. In WAL mode the log keeps the frames with the row behind a checkpoint that moved every frame (FULL, RESTART).
#            Only TRUNCATE cuts the file.
# Seen:      deleted: parts in 4 of 100 files, after VACUUM in 0
#            log after FULL: True
#            log after RESTART: True
#            log after TRUNCATE: False
#
# Needs python3 with venv and a few MB from PyPI. Exits with 1 where the behaviour has changed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
seen=$("$folder/env/bin/python" - "$folder" <<'PYTHON'
import pathlib
import random
import sys

import apsw

folder = pathlib.Path(sys.argv[1])
TEXT = "to be removed "


def is_in(path):
    return path.exists() and TEXT.strip().encode() in path.read_bytes()


def moved(seed):
    """Returns whether a file holds parts of deleted rows, before and after VACUUM."""
    path = folder / f"{seed}.db"
    order = random.Random(seed)
    db = apsw.Connection(str(path))
    list(db.execute("PRAGMA secure_delete = ON"))
    db.execute("CREATE TABLE report (id TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID")
    removed = []
    for number in range(30):
        id, text = f"{order.getrandbits(32):08x}", "keep "
        if number % 3 == 0:
            removed.append(id)
            text = TEXT
        db.execute("INSERT INTO report VALUES (?, ?)", (id, text * (300 // len(text))))
    order.shuffle(removed)
    for id in removed:
        db.execute("DELETE FROM report WHERE id = ?", (id,))
    assert next(db.execute("SELECT count(*) FROM report WHERE body LIKE '%removed%'")) == (0,)
    before = is_in(path)
    db.execute("VACUUM")
    return before, is_in(path)


files = [moved(seed) for seed in range(100)]
print(f"deleted: parts in {sum(one for one, _ in files)} of 100 files, after VACUUM in {sum(two for _, two in files)}")

for mode in ("FULL", "RESTART", "TRUNCATE"):
    path = folder / f"{mode}.db"
    db = apsw.Connection(str(path))
    for pragma in ("journal_mode = WAL", "secure_delete = ON"):
        list(db.execute(f"PRAGMA {pragma}"))
    db.execute("CREATE TABLE person (name TEXT)")
    db.execute("INSERT INTO person VALUES (?)", (TEXT,))
    db.execute("DELETE FROM person")
    busy, frames, checkpointed = next(db.execute(f"PRAGMA wal_checkpoint({mode})"))
    assert busy == 0 and frames == checkpointed, (busy, frames, checkpointed)
    print(f"log after {mode}: {is_in(pathlib.Path(f'{path}-wal'))}")
PYTHON
)
echo "$seen"
[[ $seen == "deleted: parts in 4 of 100 files, after VACUUM in 0
log after FULL: True
log after RESTART: True
log after TRUNCATE: False" ]] || { echo "the behaviour has changed" >&2 && exit 1; }
