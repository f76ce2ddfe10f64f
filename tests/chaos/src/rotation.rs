//! Changes passwords under load (F33). The servers take the new password at once and cut every connection. The file
//! follows later, as a mounted secret does.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::servers::{Broker, Database};

/// The user of the workers at both servers.
pub(crate) const USER: &str = "nightshift";
/// File name of the database password, below the folder.
pub(crate) const DATABASE_PASSWORD: &str = "database-password";
pub(crate) const BROKER_PASSWORD: &str = "broker-password";
/// Delay between the change at the servers and the change of the files.
const MOUNT_LAG: Duration = Duration::from_secs(3);
/// Time limit in seconds until new passwords are used (faults.md).
pub(crate) const MAX_ROTATION_SECS: f64 = 60.0;

/// Creates the users and the files of their passwords.
pub(crate) async fn prepare(
    folder: &Path,
    database: &Database,
    broker: &Broker,
) -> anyhow::Result<()> {
    let (client, _connection) = connect(database).await?;
    let password = password();
    client
        .batch_execute(&format!(
            "CREATE ROLE {USER} LOGIN PASSWORD '{password}'; ALTER SCHEMA public OWNER TO {USER}"
        ))
        .await?;
    broker.ctl(&["--quiet", "add_user", USER, &password])?;
    broker.ctl(&["--quiet", "set_permissions", USER, ".*", ".*", ".*"])?;
    write(folder, &password)
}

/// Changes both passwords and waits until all workers are connected to the database with the new one. Returns the
/// time since the files changed.
pub(crate) async fn rotate(
    folder: &Path,
    database: &Database,
    broker: &Broker,
    workers: usize,
) -> anyhow::Result<Duration> {
    let (client, _connection) = connect(database).await?;
    let password = password();
    client
        .batch_execute(&format!("ALTER ROLE {USER} PASSWORD '{password}'"))
        .await?;
    broker.ctl(&["--quiet", "change_password", USER, &password])?;
    client
        .execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
            &[&USER],
        )
        .await?;
    broker.ctl(&["--quiet", "close_all_user_connections", USER, "rotated"])?;
    tokio::time::sleep(MOUNT_LAG).await;
    write(folder, &password)?;
    let since = Instant::now();
    let workers = i64::try_from(workers)?;
    // Each worker keeps one connection that listens.
    let listening =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND query ILIKE 'LISTEN%'";
    while client
        .query_one(listening, &[&USER])
        .await?
        .get::<_, i64>(0)
        < workers
    {
        ensure!(
            since.elapsed().as_secs_f64() < 2.0 * MAX_ROTATION_SECS,
            "the new passwords are not used"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(since.elapsed())
}

fn password() -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(24)
        .collect()
}

/// Replaces the files atomically, as a mounted secret is replaced.
fn write(folder: &Path, password: &str) -> anyhow::Result<()> {
    for name in [DATABASE_PASSWORD, BROKER_PASSWORD] {
        let new = folder.join(format!("{name}.new"));
        std::fs::write(&new, password)?;
        std::fs::rename(new, folder.join(name))?;
    }
    Ok(())
}

async fn connect(
    database: &Database,
) -> anyhow::Result<(Client, JoinSet<Result<(), tokio_postgres::Error>>)> {
    let connected = tokio_postgres::connect(database.url(), NoTls).await;
    let (client, connection) = connected.context("the database")?;
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    Ok((client, connections))
}
