//! Judges the settings of a server by what they mean for stored data, without I/O.

use nightshift_engine::doctor::HealthReport;

use crate::sqlite::check_schema_ahead;

/// The settings of a server and of our role.
#[derive(Debug, Clone)]
pub(super) struct ServerSettings {
    pub(super) version: String,
    pub(super) number: i32,
    pub(super) role: String,
    pub(super) is_super: bool,
    pub(super) fsync: String,
    pub(super) full_page_writes: String,
    /// The service whose storage keeps the log instead of a disk of the server, if any.
    pub(super) log_keeper: Option<String>,
    pub(super) synchronous_commit: String,
    pub(super) autovacuum: String,
    pub(super) is_standby: bool,
    /// True if transactions of our role are read-only by default.
    pub(super) is_read_only: bool,
    /// True if the schema for the tables of our role exists.
    pub(super) has_place: bool,
    pub(super) encoding: String,
    pub(super) free_connections: i32,
    pub(super) may_create: bool,
    /// The schema of our tables, quoted for SQL.
    pub(super) place: String,
    /// True if the connection is encrypted or local.
    pub(super) is_private: bool,
    /// Tables that the role must not use.
    pub(super) closed: Vec<String>,
    /// Sequences that the role must not use.
    pub(super) sealed: Vec<String>,
    /// The version of the latest migration, if there was any.
    pub(super) schema: Option<i64>,
}

/// The oldest version that supports our SQL.
const OLDEST: i32 = 130_000;

/// Reports unsuitable settings. `most` is the number of connections of one worker, `ours` the version of the schema
/// that this program knows.
pub(super) fn check_settings(
    facts: &ServerSettings,
    most: usize,
    ours: i64,
    checkup: &mut HealthReport,
) {
    let schema = facts
        .schema
        .map_or("no schema yet".to_owned(), |it| format!("schema {it}"));
    // The version looks like "17.2 (Debian 17.2-1.pgdg120+1)".
    let version = facts.version.split(' ').next().unwrap_or_default();
    checkup.add_observation(format!("PostgreSQL {version}"));
    checkup.add_observation(schema);
    checkup.add_observation(format!("as {}", facts.role));
    if facts.number < OLDEST {
        checkup.add_error(
            "store.version",
            format!("PostgreSQL {} is older than 13", facts.version),
            "statements of ours are not known there, and nobody mends it any more",
            "upgrade the server to 13 or newer",
        );
    }
    durable(facts, checkup);
    role(facts, checkup);
    schema_of(facts, ours, checkup);
    server(facts, most, checkup);
}

/// Checks that a commit is durable, because sources are acknowledged after it.
fn durable(facts: &ServerSettings, checkup: &mut HealthReport) {
    match &facts.log_keeper {
        Some(whose) => kept_elsewhere(facts, whose, checkup),
        None => on_disk(facts, checkup),
    }
    if facts.synchronous_commit == "off" {
        checkup.add_error(
            "store.synchronous_commit",
            "synchronous_commit is off",
            "a commit is told before it is on the disk: a crash loses alerts that were acknowledged at their source",
            format!("ALTER ROLE \"{}\" SET synchronous_commit = on, or set it in postgresql.conf", facts.role),
        );
    }
}

/// Reports a service that keeps the log elsewhere. A disk of its server is only a cache,
/// so what a crash leaves on it does not matter.
fn kept_elsewhere(facts: &ServerSettings, whose: &str, checkup: &mut HealthReport) {
    let settings = [
        ("fsync", &facts.fsync),
        ("full_page_writes", &facts.full_page_writes),
    ];
    let off: Vec<&str> = settings
        .into_iter()
        .filter(|(_, value)| *value == "off")
        .map(|(name, _)| name)
        .collect();
    if !off.is_empty() {
        let are = if off.len() == 1 { "is" } else { "are" };
        let off = off.join(" and ");
        checkup.add_observation(format!("{off} {are} off: {whose} keeps the log"));
    }
}

fn on_disk(facts: &ServerSettings, checkup: &mut HealthReport) {
    if facts.fsync == "off" {
        checkup.add_error(
            "store.fsync",
            "fsync is off",
            "a crash of the machine can lose or damage everything; accepted alerts are gone at their source by then",
            "set fsync = on in postgresql.conf and restart the server",
        );
    }
    if facts.full_page_writes == "off" {
        checkup.add_error(
            "store.full_page_writes",
            "full_page_writes is off",
            "a crash in the middle of a write can leave pages that are half old and half new",
            "set full_page_writes = on in postgresql.conf and reload the server",
        );
    }
}

fn role(facts: &ServerSettings, checkup: &mut HealthReport) {
    if facts.is_super {
        checkup.add_warning(
            "store.superuser",
            format!("the role {} is a superuser", facts.role),
            "whoever gets hold of its password owns the server, files and all",
            "make a role of its own: CREATE ROLE nightshift LOGIN, and give it the database",
        );
    }
    if !facts.closed.is_empty() {
        checkup.add_error(
            "store.privileges",
            format!(
                "the role {} may not read and write {}",
                facts.role,
                facts.closed.join(", ")
            ),
            "the worker stops at the first statement on them",
            format!(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {} TO \"{}\"",
                facts.place, facts.role
            ),
        );
    }
    if !facts.sealed.is_empty() {
        checkup.add_error(
            "store.privileges",
            format!(
                "the role {} may not use {}",
                facts.role,
                facts.sealed.join(", ")
            ),
            "messages get their numbers from sequences: no alert can be accepted",
            format!(
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {} TO \"{}\"",
                facts.place, facts.role
            ),
        );
    }
    if !facts.is_private {
        checkup.add_warning(
            "store.not_encrypted",
            "the connection is not encrypted, and goes to another machine",
            "alerts, evidence and the password can be read on the way",
            "switch TLS on at the server, and write ?sslmode=require into [store] url",
        );
    }
}

fn schema_of(facts: &ServerSettings, ours: i64, checkup: &mut HealthReport) {
    if !facts.has_place {
        return checkup.add_error(
            "store.search_path",
            "search_path leads to no schema that is there",
            "no table is found, and none can be made: the worker does not start",
            format!(
                "ALTER ROLE \"{0}\" RESET search_path, or make the schema that it names and let {0} use it; see the \
                 database's own setting, too",
                facts.role
            ),
        );
    }
    match facts.schema {
        Some(latest) if latest > ours => check_schema_ahead(latest, ours, checkup),
        Some(latest) if latest == ours => {}
        behind => {
            let there = behind.map_or("there is no schema".to_owned(), |it| {
                format!("the schema is version {it}")
            });
            let what = format!("{there}, and this program needs {ours}");
            let mend = "run `nightshift migrate` as the role that owns the database";
            if facts.may_create {
                let why = "every command migrates when it opens the store; until then workers of the older version run on it";
                checkup.add_warning("store.schema_behind", what, why, mend);
            } else {
                let why = format!(
                    "the role {} may not change the schema, so the worker does not start",
                    facts.role
                );
                checkup.add_error("store.schema_behind", what, why, mend);
            }
        }
    }
}

fn server(facts: &ServerSettings, most: usize, checkup: &mut HealthReport) {
    let why = "no alert can be accepted";
    if facts.is_standby {
        let mend = "name the primary in [store] url; with several hosts add target_session_attrs=read-write";
        let what = "the server takes no writes: it is a standby";
        checkup.add_error("store.read_only", what, why, mend);
    } else if facts.is_read_only {
        let mend = format!(
            "ALTER ROLE \"{}\" RESET default_transaction_read_only; it may be set for the database, or in \
             postgresql.conf, too",
            facts.role
        );
        let what = "default_transaction_read_only is on, on a server that could write";
        checkup.add_error("store.read_only", what, why, mend);
    }
    if facts.encoding != "UTF8" {
        checkup.add_error(
            "store.encoding",
            format!("the database is encoded as {}", facts.encoding),
            "alerts hold any character; those that it has not fail their whole batch",
            "make the database anew with ENCODING 'UTF8' TEMPLATE template0",
        );
    }
    if facts.autovacuum == "off" {
        checkup.add_warning(
            "store.autovacuum",
            "autovacuum is off",
            "inbox and outbox change all the time: without it they bloat, and claims get slower week by week",
            "set autovacuum = on in postgresql.conf and reload the server",
        );
    }
    if usize::try_from(facts.free_connections).unwrap_or(0) < most {
        checkup.add_warning(
            "store.connections",
            format!(
                "{} connections are free, and a worker holds up to {most}",
                facts.free_connections.max(0)
            ),
            "one that gets none waits, its leases end, and its cases are given to others",
            "raise max_connections of the server, and the CONNECTION LIMIT of role and database where there is one, or run fewer workers",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> ServerSettings {
        ServerSettings {
            version: "17.2".into(),
            number: 170_002,
            role: "nightshift".into(),
            is_super: false,
            fsync: "on".into(),
            full_page_writes: "on".into(),
            log_keeper: None,
            synchronous_commit: "on".into(),
            autovacuum: "on".into(),
            is_standby: false,
            is_read_only: false,
            has_place: true,
            encoding: "UTF8".into(),
            free_connections: 80,
            may_create: false,
            place: "public".to_owned(),
            is_private: true,
            closed: Vec::new(),
            sealed: Vec::new(),
            schema: Some(8),
        }
    }

    fn found(change: impl FnOnce(&mut ServerSettings)) -> Vec<&'static str> {
        let mut facts = good();
        change(&mut facts);
        let mut checkup = HealthReport::default();
        check_settings(&facts, 10, 8, &mut checkup);
        checkup.failed_checks.iter().map(|one| one.check).collect()
    }

    #[test]
    fn sound_server_has_no_finding_and_each_fault_has_its_own() {
        assert_eq!(found(|_| {}), Vec::<&str>::new());
        assert_eq!(found(|it| it.number = 120_000), ["store.version"]);
        assert_eq!(
            found(|it| it.full_page_writes = "off".into()),
            ["store.full_page_writes"]
        );
        assert_eq!(
            found(|it| it.autovacuum = "off".into()),
            ["store.autovacuum"]
        );
        assert_eq!(
            found(|it| it.encoding = "SQL_ASCII".into()),
            ["store.encoding"]
        );
        assert_eq!(found(|it| it.is_private = false), ["store.not_encrypted"]);
        assert_eq!(found(|it| it.free_connections = 9), ["store.connections"]);
        assert_eq!(found(|it| it.free_connections = -3), ["store.connections"]);
        assert_eq!(found(|it| it.schema = Some(9)), ["store.schema_ahead"]);
        assert_eq!(
            found(|it| (it.has_place, it.schema) = (false, None)),
            ["store.search_path"]
        );
    }

    #[test]
    fn settings_off_where_storage_keeps_the_log_are_only_a_note() {
        let seen = |full_page_writes: &str, synchronous_commit: &str| {
            let facts = ServerSettings {
                fsync: "off".into(),
                full_page_writes: full_page_writes.into(),
                synchronous_commit: synchronous_commit.into(),
                log_keeper: Some("Neon".into()),
                ..good()
            };
            let mut checkup = HealthReport::default();
            check_settings(&facts, 10, 8, &mut checkup);
            let found: Vec<_> = checkup.failed_checks.iter().map(|one| one.check).collect();
            (checkup.observations.join("; "), found)
        };
        let (said, found) = seen("on", "on");
        assert!(
            said.ends_with("; fsync is off: Neon keeps the log"),
            "{said}"
        );
        assert_eq!(found, Vec::<&str>::new());
        let (said, found) = seen("off", "off");
        assert!(
            said.ends_with("; fsync and full_page_writes are off: Neon keeps the log"),
            "{said}"
        );
        assert_eq!(
            found,
            ["store.synchronous_commit"],
            "nobody waits for the log"
        );
    }

    #[test]
    fn standby_and_read_only_role_need_different_fixes() {
        let mend = |is_standby| {
            let facts = ServerSettings {
                is_standby,
                is_read_only: true,
                ..good()
            };
            let mut checkup = HealthReport::default();
            check_settings(&facts, 10, 8, &mut checkup);
            checkup
                .failed_checks
                .iter()
                .map(|one| one.mend.clone())
                .collect::<String>()
        };
        assert!(mend(true).starts_with("name the primary"));
        assert!(
            mend(false)
                .starts_with("ALTER ROLE \"nightshift\" RESET default_transaction_read_only;")
        );
    }
}
