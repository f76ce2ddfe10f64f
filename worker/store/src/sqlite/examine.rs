//! A look at a database file.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use nightshift_engine::Checkup;
use nightshift_pipeline::{Owed, writable};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{migrations, owed};

/// How long it is waited for another process.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long damage is looked for: the file is read whole, and the doctor waits for 30 seconds.
const LONGEST: Duration = Duration::from_secs(20);
/// After this the search is told to end once more: what comes before it has begun is not heard.
const AGAIN: Duration = Duration::from_millis(1);
const LATEST: &str = "SELECT max(version) FROM refinery_schema_history";
/// Says `ok`, or what is broken first.
const SOUND: &str = "PRAGMA quick_check(1)";
const WRITE: &str = "BEGIN IMMEDIATE; ROLLBACK";

/// Looks at the database file of this path; what it owes, where that can be read. Blocks.
pub(crate) fn examine(path: &Path) -> (Checkup, Vec<Owed>) {
    let (mut checkup, mut owed) = (Checkup::default(), Vec::new());
    checkup.saw(format!("SQLite, {}", path.display()));
    if path.exists() {
        match file(path, LONGEST, &mut checkup) {
            Ok(found) => owed = found,
            Err(error) => checkup.error(
                "store.broken",
                format!("{} cannot be read as a database: {error}", path.display()),
                "no case can be kept, and none of those in it can be shown",
                "restore it from a backup, or name another file in [store] url; sqlite3's .recover saves what is left",
            ),
        }
    } else {
        checkup.saw("made at the first start");
        folder(path, &mut checkup);
    }
    (checkup, owed)
}

fn file(path: &Path, longest: Duration, checkup: &mut Checkup) -> rusqlite::Result<Vec<Owed>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    match sound(&connection, longest)?.as_deref() {
        Some("ok") => {}
        Some(damage) => checkup.error(
            "store.broken",
            format!("{} is damaged: {damage}", path.display()),
            "cases and reports in it may be wrong or lost, and writes may fail",
            "stop the worker, keep a copy, and restore a backup or use sqlite3's .recover; then look at the disk",
        ),
        None => checkup.saw(format!(
            "damage was looked for during {} seconds, and not to the end: sqlite3's PRAGMA quick_check does",
            longest.as_secs()
        )),
    }
    let latest = connection.query_row(LATEST, [], |row| row.get::<_, Option<i64>>(0));
    let ours = migrations::migrations::runner();
    let ours = ours.get_migrations().iter().map(|one| one.version()).max();
    let ours = ours.map(i64::from).unwrap_or_default();
    match latest.unwrap_or_default() {
        Some(latest) if latest > ours => ahead(latest, ours, checkup),
        Some(latest) => checkup.saw(format!("schema {latest}")),
        None => checkup.saw("no schema yet"),
    }
    match connection.execute_batch(WRITE) {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
            checkup.error(
                "store.read_only",
                format!("{} cannot be written: {error}", path.display()),
                "no alert can be accepted",
                "give the user of the worker the right to write the file and its folder",
            );
        }
        _ => {}
    }
    // A schema of before has no such table, or other columns; it is migrated at the next start.
    Ok(owed::owed(&connection).unwrap_or_default())
}

/// What the file says of itself; none where that took longer than this.
fn sound(connection: &Connection, longest: Duration) -> rusqlite::Result<Option<String>> {
    let handle = connection.get_interrupt_handle();
    let (said, waits) = mpsc::channel::<()>();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let mut wait = longest;
            while waits.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
                wait = AGAIN;
            }
        });
        let sound = connection.query_row(SOUND, [], |row| row.get(0));
        drop(said);
        match sound {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Ok(None)
            }
            sound => sound.map(Some),
        }
    })
}

/// What holds for both stores.
pub(crate) fn ahead(latest: i64, ours: i64, checkup: &mut Checkup) {
    checkup.warning(
        "store.schema_ahead",
        format!("the schema is version {latest}, and this program knows {ours}"),
        "a newer version ran here; this one leaves alone what it cannot read, so some cases wait for the newer one",
        "run the newer version everywhere, or, in the middle of an upgrade, go on with it",
    );
}

/// Whether the first start can make it.
fn folder(path: &Path, checkup: &mut Checkup) {
    let dir = path.parent().unwrap_or(Path::new(""));
    if let Err(error) = writable(dir) {
        checkup.error(
            "store.folder",
            format!("{} cannot be made: {error}", path.display()),
            "the worker cannot start without its database",
            "make a folder that its user may write, or name another file in [store] url",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a while to read through: many pages, and an index whose entries are held against the rows.
    const MANY: &str = "CREATE TABLE many (one TEXT, other TEXT); CREATE INDEX by_other ON many (other);
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200000)
        INSERT INTO many SELECT hex(randomblob(40)), hex(randomblob(10)) FROM numbers";

    #[test]
    fn a_large_file_is_looked_at_for_a_while_and_is_no_fault() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(MANY).unwrap();
        let look = |longest| {
            let mut checkup = Checkup::default();
            file(&path, longest, &mut checkup).unwrap();
            checkup
        };
        let short = look(Duration::ZERO);
        assert_eq!(short.found, []);
        assert!(
            short.seen[0].starts_with("damage was looked for during 0 seconds, and not to the end"),
            "{short:?}"
        );
        let whole = look(LONGEST);
        assert_eq!(
            (whole.found, whole.seen),
            (vec![], vec!["no schema yet".to_owned()])
        );
    }
}
