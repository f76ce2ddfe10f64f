//! Probes a server: the connection, the effect of its settings on committed data, and the privileges of the role.

mod connect_error;
mod server_settings;

use nightshift_engine::doctor::HealthReport;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::port::Clock;
use nightshift_pipeline::port::DestinationBacklog;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, Error};

use super::connect::Connector;
use super::{MOST_CONNECTIONS, PostgresOpenError, migrate, pooler};
use crate::options::StoreOptions;
use crate::sql::Row;
use crate::sql::outbox_admin::{BACKLOGS, to_backlog};
use connect_error::report_connect_error;
use server_settings::{ServerSettings, check_settings};

/// Reads the facts of the server. Of connections of other roles, a plain role sees user and database, but not the type.
/// `least` ignores limits that are not set. Neon has a setting, and Aurora a function, which shows that their storage
/// keeps the log: <https://neon.com/docs/reference/compatibility>,
/// <https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora_version.html>.
const FACTS: &str = "SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
    current_user::text AS role, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_super,
    current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
    CASE WHEN coalesce(current_setting('neon.tenant_id', true), '') <> '' THEN 'Neon'
        WHEN to_regprocedure('aurora_version()') IS NOT NULL THEN 'Aurora' END AS log_keeper,
    current_setting('synchronous_commit') AS synchronous_commit, current_setting('autovacuum') AS autovacuum,
    pg_is_in_recovery() AS is_standby, current_setting('default_transaction_read_only') = 'on' AS is_read_only,
    current_schema() IS NOT NULL AS has_place, coalesce(quote_ident(current_schema()), 'public') AS place,
    current_setting('server_encoding') AS encoding,
    least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true), '0')::int
            - (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL)::int,
        (SELECT r.rolconnlimit - (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid = r.oid)::int
            FROM pg_roles r WHERE r.rolname = current_user AND r.rolconnlimit >= 0 AND NOT r.rolsuper),
        (SELECT d.datconnlimit - (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = d.oid AND a.usesysid IS NOT NULL)::int
            FROM pg_database d WHERE d.datname = current_database() AND d.datconnlimit >= 0)) AS free_connections,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AND NOT EXISTS (
        SELECT FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = 'cases'
            AND c.relkind = 'r' AND NOT pg_has_role(c.relowner, 'USAGE')) AS may_create,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted";
const CLOCK: &str = "SELECT clock_timestamp()";
/// Selects our tables that the role must not read or write as a worker does.
const CLOSED: &str =
    "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
    AND c.relkind = 'r' AND c.relname = ANY ($1) AND NOT (has_table_privilege(c.oid, 'SELECT')
    AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
    AND has_table_privilege(c.oid, 'DELETE')) ORDER BY 1";
/// Selects the sequences of our tables that the role must not use. The privilege function fails for other relations, so
/// the query keeps it from them whatever the order of evaluation.
const SEALED: &str = "SELECT s.relname::text FROM pg_class s
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid AND d.refclassid = 'pg_class'::regclass
        AND d.deptype IN ('a', 'i')
    JOIN pg_class c ON c.oid = d.refobjid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY ($1)
    AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE, UPDATE') ELSE false END ORDER BY 1";
/// The tables that the migrations create. A test checks the list.
pub(super) const OURS: [&str; 24] = [
    "alerts",
    "arrivals",
    "batches",
    "case_actions",
    "case_words",
    "cases",
    "conclusions",
    "dead_letters",
    "deliveries",
    "destination_leases",
    "digests",
    "indicators",
    "journal",
    "lost_leases",
    "mutes",
    "orphaned_blobs",
    "pending_revisions",
    "person_verdicts",
    "raw_messages",
    "registers",
    "retention_clock",
    "sightings",
    "spending",
    "unreadable_journals",
];

/// Probes the server of this address. Returns the pending reports by destination, or nothing if they cannot be read.
pub(crate) async fn probe(
    url: &str,
    mut options: StoreOptions,
    clock: &dyn Clock,
    checkup: &mut HealthReport,
) -> Vec<DestinationBacklog> {
    let connector = match Connector::new(url, &mut options) {
        Ok(connector) => connector,
        Err(error) => {
            let check = match error {
                PostgresOpenError::Password { .. } => "store.secret",
                _ => "store.unreachable",
            };
            checkup.add_error(
                check,
                format_error_chain(&error),
                "the worker does not start",
                "mend [store] url, password or ca_file; docs/database.md says what they may hold",
            );
            return Vec::new();
        }
    };
    // The task ends with the probe.
    let (client, _task) = match connector.open_driven().await {
        Ok(opened) => opened,
        Err(error) => {
            report_connect_error(&error, &connector.config(), checkup);
            return Vec::new();
        }
    };
    let is_private = is_private(&connector.config());
    let looked = async {
        look(&client, is_private, options.pooled, clock, checkup).await?;
        look_for_pooler(&client, &connector, &options, checkup).await
    };
    if let Err(error) = looked.await {
        checkup.add_error(
            "store.unreachable",
            format!("the server broke off: {}", format_error_chain(&error)),
            "what cannot be asked cannot be relied on",
            "look into the log of the server, and run this again",
        );
        return Vec::new();
    }
    // An older schema lacks this table or has other columns. The next start migrates it.
    let rows = client.query_typed(BACKLOGS.postgres(), &[]).await;
    let rows = rows.unwrap_or_default().into_iter().map(Row::Postgres);
    let backlogs = rows.map(|row| to_backlog(&row));
    backlogs.collect::<Result<_, _>>().unwrap_or_default()
}

async fn look(
    client: &Client,
    is_private: Option<bool>,
    is_pooled: bool,
    clock: &dyn Clock,
    checkup: &mut HealthReport,
) -> Result<(), Error> {
    let asked = clock.now();
    let said = client.query_typed_one(CLOCK, &[]).await?.try_get(0)?;
    checkup.add_clock_skew("the database", said, asked, clock.now());
    let row = client.query_typed_one(FACTS, &[]).await?;
    let mut closed = names(client, CLOSED).await?;
    let sealed = names(client, SEALED).await?;
    let schema = match migrate::latest(client).await {
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            closed.push("refinery_schema_history".to_owned());
            Some(migrate::ours())
        }
        latest => latest?,
    };
    let facts = ServerSettings {
        version: row.try_get("version")?,
        number: row.try_get("number")?,
        role: row.try_get("role")?,
        is_super: row.try_get::<_, Option<bool>>("is_super")?.unwrap_or(false),
        fsync: row.try_get("fsync")?,
        full_page_writes: row.try_get("full_page_writes")?,
        log_keeper: row.try_get("log_keeper")?,
        synchronous_commit: row.try_get("synchronous_commit")?,
        autovacuum: row.try_get("autovacuum")?,
        is_standby: row.try_get("is_standby")?,
        is_read_only: row.try_get("is_read_only")?,
        has_place: row.try_get("has_place")?,
        encoding: row.try_get("encoding")?,
        free_connections: row.try_get("free_connections")?,
        may_create: row.try_get("may_create")?,
        place: row.try_get("place")?,
        is_private: is_private.unwrap_or(row.try_get("is_encrypted")?),
        closed,
        sealed,
        schema,
    };
    // Behind a pooler, the connections of the server are those of the pooler.
    let most = if is_pooled { 0 } else { MOST_CONNECTIONS };
    check_settings(&facts, most, migrate::ours(), checkup);
    Ok(())
}

/// Reports a pooler that lends each connection for one transaction only.
async fn look_for_pooler(
    client: &Client,
    connector: &Connector,
    options: &StoreOptions,
    checkup: &mut HealthReport,
) -> Result<(), Error> {
    if let Some(direct) = &options.notify_url {
        let refused = async {
            let direct = connector.to(direct)?;
            pooler::refuse_shared_notifications(&direct, options.waits.statement).await
        };
        if let Err(error) = refused.await {
            checkup.add_error(
                "store.pooler",
                format_error_chain(&error),
                "the worker does not start",
                "write the address of the server itself into [store] notify_url, or leave it empty",
            );
        }
    }
    // Without a second connection there is nothing to compare. The free connections were counted before.
    let Ok((second, _task)) = connector.open_driven().await else {
        return Ok(());
    };
    let is_shared = pooler::shares_backends(client, &second).await?;
    if is_shared && options.pooled {
        checkup.add_observation("behind a pooler of transactions");
    } else if is_shared {
        checkup.add_error(
            "store.pooler",
            "a pooler lends each connection for one transaction only",
            "the worker does not start: its prepared statements, timeouts and notifications would reach connections of others",
            pooler::REMEDY,
        );
    }
    Ok(())
}

/// Returns the names that this query finds.
async fn names(client: &Client, sql: &str) -> Result<Vec<String>, Error> {
    let ours = OURS.as_slice();
    let rows = client
        .query_typed(sql, &[(&ours, Type::TEXT_ARRAY)])
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Returns whether nobody else can read the connection, or `None` if the address does not determine that. The server is
/// not asked, because behind a pooler it describes its connection to the pooler.
fn is_private(config: &Config) -> Option<bool> {
    if config.get_hosts().iter().all(is_near) {
        return Some(true);
    }
    match config.get_ssl_mode() {
        SslMode::Require => Some(true),
        SslMode::Disable => Some(false),
        _ => None,
    }
}

/// Returns whether connections to this host cross no network.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_in_the_address_outranks_the_reply_behind_a_pooler() {
        let private = |address: &str| is_private(&address.parse().unwrap());
        let far = "postgres://nightshift@pooler.example.com/nightshift?sslmode";
        assert_eq!(private(&format!("{far}=require")), Some(true));
        assert_eq!(private(&format!("{far}=disable")), Some(false));
        assert_eq!(private(&format!("{far}=prefer")), None);
        let near = "postgres://nightshift@127.0.0.1/nightshift?sslmode=disable";
        assert_eq!(private(near), Some(true));
    }
}
