//! Probes a database file.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::port::DestinationBacklog;
use nightshift_pipeline::probe::check_writable;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::migrations;
use crate::sql::all_of_sqlite;
use crate::sql::outbox_admin::{BACKLOGS, to_backlog};

/// The time that the probe waits for locks of other processes.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time limit of the integrity check, which reads the whole file. The doctor waits for 30 seconds.
const LONGEST: Duration = Duration::from_secs(20);
/// The interval at which the check is interrupted again. SQLite ignores an interrupt before the query has started.
const AGAIN: Duration = Duration::from_millis(1);
const LATEST: &str = "SELECT max(version) FROM refinery_schema_history";
/// Returns `ok`, or the first damage.
const SOUND: &str = "PRAGMA quick_check(1)";
const WRITE: &str = "BEGIN IMMEDIATE; ROLLBACK";

/// Probes the database file of this path. Returns the pending reports by destination, or nothing if they cannot be
/// read. Blocks.
pub(crate) fn probe(path: &Path) -> (HealthReport, Vec<DestinationBacklog>) {
    let (mut checkup, mut owed) = (HealthReport::default(), Vec::new());
    checkup.add_observation(format!("SQLite, {}", path.display()));
    if path.is_dir() {
        checkup.add_error(
            "store.folder",
            format!(
                "{} is a folder, and no file can be made in its place",
                path.display()
            ),
            "the worker cannot start without its database",
            "name a file in [store] url, which may be in that folder: sqlite:FOLDER/nightshift.db",
        );
    } else if path.exists() {
        match file(path, LONGEST, &mut checkup) {
            Ok(found) => owed = found,
            Err(error) => unusable(path, &error, &mut checkup),
        }
    } else {
        checkup.add_observation("made at the first start");
        folder(path, &mut checkup);
    }
    (checkup, owed)
}

fn file(
    path: &Path,
    longest: Duration,
    checkup: &mut HealthReport,
) -> rusqlite::Result<Vec<DestinationBacklog>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    opened(&connection, path, longest, checkup)
}

fn opened(
    connection: &Connection,
    path: &Path,
    longest: Duration,
    checkup: &mut HealthReport,
) -> rusqlite::Result<Vec<DestinationBacklog>> {
    match sound(connection, longest)?.as_deref() {
        Some("ok") => {}
        Some(damage) => checkup.add_error(
            "store.broken",
            format!("{} is damaged: {damage}", path.display()),
            "cases and reports in it may be wrong or lost, and writes may fail",
            "stop the worker, keep a copy, and restore a backup or use sqlite3's .recover; then look at the disk",
        ),
        None => checkup.add_observation(format!(
            "damage was looked for during {} seconds, and not to the end: sqlite3's PRAGMA quick_check does",
            longest.as_secs()
        )),
    }
    let latest = connection.query_row(LATEST, [], |row| row.get::<_, Option<i64>>(0));
    let ours = migrations::migrations::runner();
    let ours = ours.get_migrations().iter().map(|one| one.version()).max();
    let ours = ours.map(i64::from).unwrap_or_default();
    match latest.unwrap_or_default() {
        Some(latest) if latest > ours => check_schema_ahead(latest, ours, checkup),
        Some(latest) => checkup.add_observation(format!("schema {latest}")),
        None => checkup.add_observation("no schema yet"),
    }
    if let Some(why) = not_written(connection, path)? {
        read_only(path, &why, checkup);
    }
    // An older schema lacks this table or has other columns. The next start migrates it.
    let rows = all_of_sqlite(connection, &BACKLOGS, &[]).unwrap_or_default();
    let backlogs = rows.iter().map(to_backlog);
    Ok(backlogs.collect::<Result<_, _>>().unwrap_or_default())
}

/// Returns why the file is not writable, or `None` if it is. SQLite opens a file that we must not write as read-only,
/// without an error. Writes also need files in the same folder.
fn not_written(connection: &Connection, path: &Path) -> rusqlite::Result<Option<String>> {
    if connection.is_readonly(MAIN_DB)? {
        return Ok(Some("it can only be read".to_owned()));
    }
    if let Err(error) = check_writable(path.parent().unwrap_or(Path::new(""))) {
        return Ok(Some(format!("nothing can be made beside it: {error}")));
    }
    Ok(match connection.execute_batch(WRITE) {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
            Some(error.to_string())
        }
        _ => None,
    })
}

fn read_only(path: &Path, why: &str, checkup: &mut HealthReport) {
    checkup.add_error(
        "store.read_only",
        format!("{} cannot be written: {why}", path.display()),
        "no alert can be accepted",
        "let the user of the worker own the file, those beside it (-wal, -shm) and their folder, with the right to write (chown, \
         chmod u+rw, and u+rwx of the folder); see whether the volume is mounted read-only",
    );
}

/// Reports that the file cannot be examined. Damage is reported only for a file that could be opened.
fn unusable(path: &Path, error: &rusqlite::Error, checkup: &mut HealthReport) {
    if let Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) =
        error.sqlite_error_code()
    {
        return read_only(path, &error.to_string(), checkup);
    }
    checkup.add_error(
        "store.broken",
        format!("{} cannot be read as a database: {error}", path.display()),
        "no case can be kept, and none of those in it can be shown",
        "restore it from a backup, or name another file in [store] url; sqlite3's .recover saves what is left",
    );
}

/// Returns the result of the integrity check, or `None` if it took longer than this.
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

/// Reports a schema that is newer than this program. Both stores use this.
pub(crate) fn check_schema_ahead(latest: i64, ours: i64, checkup: &mut HealthReport) {
    checkup.add_warning(
        "store.schema_ahead",
        format!("the schema is version {latest}, and this program knows {ours}"),
        "a newer version ran here; this one leaves alone what it cannot read, so some cases wait for the newer one",
        "run the newer version everywhere, or, in the middle of an upgrade, go on with it",
    );
}

/// Checks whether the first start can create the file.
fn folder(path: &Path, checkup: &mut HealthReport) {
    let dir = path.parent().unwrap_or(Path::new(""));
    if let Err(error) = check_writable(dir) {
        checkup.add_error(
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

    /// Creates a database that takes a while to check: many pages, and an index that is compared with the rows.
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
            let mut checkup = HealthReport::default();
            file(&path, longest, &mut checkup).unwrap();
            checkup
        };
        let short = look(Duration::ZERO);
        assert_eq!(short.failed_checks, []);
        assert!(
            short.observations[0]
                .starts_with("damage was looked for during 0 seconds, and not to the end"),
            "{short:?}"
        );
        let whole = look(LONGEST);
        assert_eq!(
            (whole.failed_checks, whole.observations),
            (vec![], vec!["no schema yet".to_owned()])
        );
    }

    fn checks(checkup: &HealthReport) -> Vec<&str> {
        checkup.failed_checks.iter().map(|one| one.check).collect()
    }

    /// Tests may run as root, which may write everything. SQLite then opens the file as read-only where writing is not
    /// allowed.
    #[test]
    fn file_openable_only_for_reading_is_reported_as_read_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE one (it)").unwrap();
        let reader = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let mut checkup = HealthReport::default();
        opened(&reader, &path, LONGEST, &mut checkup).unwrap();
        assert_eq!(checks(&checkup), ["store.read_only"]);
        let mut checkup = HealthReport::default();
        opened(&writer, &path, LONGEST, &mut checkup).unwrap();
        assert_eq!(checks(&checkup), Vec::<&str>::new());
    }

    #[test]
    fn inaccessible_file_is_not_reported_as_damaged() {
        let check = |code: i32| {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let mut checkup = HealthReport::default();
            unusable(Path::new("n.db"), &error, &mut checkup);
            checkup.failed_checks[0].check
        };
        use rusqlite::ffi;
        for code in [
            ffi::SQLITE_READONLY,
            ffi::SQLITE_READONLY_DIRECTORY,
            ffi::SQLITE_READONLY_CANTINIT,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_PERM,
        ] {
            assert_eq!(check(code), "store.read_only", "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_IOERR] {
            assert_eq!(check(code), "store.broken", "{code}");
        }
    }
}
