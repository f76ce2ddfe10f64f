//! Measures the worker as a process on PostgreSQL with RabbitMQ: the rate of intake, the time until a critical alert
//! behind many others is claimed, and the memory of an idle worker.
//!
//! The servers are those of `tests/services`, named by `NIGHTSHIFT_TEST_POSTGRES` and `NIGHTSHIFT_TEST_RABBITMQ`.
//! Without them nothing is measured. They run on the same machine and use a part of its CPU.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use nightshift_alert::{ReadOptions, Severity, read_message};
use nightshift_pipeline::intake::Arrival;
use nightshift_store::StoreOptions;
use nightshift_tests::Publisher;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::figure::{Figure, median};
use crate::fixture::{LEASE, MINER, folder, no_storms};
use crate::process::{runtime, status_kib};

/// Number of alerts for intake.
const ALERTS: u32 = 20_000;
/// Number of alerts that wait before the critical one.
const BACKLOG_ALERTS: u32 = 10_000;
/// Number of alerts that this program inserts per transaction.
const BATCH: usize = 500;
/// Interval of polling the database.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time that a worker settles before its memory is read.
const SETTLE_TIME: Duration = Duration::from_secs(5);
/// Number of timed starts.
const STARTS: usize = 9;

/// Measures intake, priority and memory.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let (Some(postgres), Some(rabbitmq)) = (service("POSTGRES"), service("RABBITMQ")) else {
        eprintln!(
            "worker: not measured; tests/services starts PostgreSQL and RabbitMQ and says how to name them"
        );
        return Ok(Vec::new());
    };
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut figures = intake(&postgres, &rabbitmq).await?;
        figures.push(critical(&postgres, &rabbitmq).await?);
        figures.push(idle(&postgres, &rabbitmq).await?);
        figures.push(ready(&postgres, &rabbitmq).await?);
        Ok(figures)
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the environment says where servers for tests are"
)]
pub(crate) fn service(name: &str) -> Option<String> {
    std::env::var(format!("NIGHTSHIFT_TEST_{name}")).ok()
}

/// A separate database, and a connection that observes it.
pub(crate) struct Database {
    pub(crate) url: String,
    client: Client,
    _connections: JoinSet<Result<(), tokio_postgres::Error>>,
}

impl Database {
    pub(crate) async fn new(server: &str) -> anyhow::Result<Self> {
        let mut connections = JoinSet::new();
        let (client, connection) = tokio_postgres::connect(server, NoTls).await?;
        connections.spawn(connection);
        drop_unused(&client).await?;
        let name = format!("bench_{}", uuid::Uuid::new_v4().simple());
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await?;
        let url = server.replacen("/postgres?", &format!("/{name}?"), 1);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        connections.spawn(connection);
        Ok(Self {
            url,
            client,
            _connections: connections,
        })
    }

    /// Returns the number of other connections to the database.
    pub(crate) async fn connections(&self) -> anyhow::Result<i64> {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        Ok(self.client.query_one(sql, &[]).await?.try_get(0)?)
    }

    /// Waits until the query finds this many rows, and returns the time.
    async fn until(&self, sql: &str, many: i64) -> anyhow::Result<Instant> {
        let mut looks = tokio::time::interval(POLL_INTERVAL);
        loop {
            looks.tick().await;
            // The worker creates the tables.
            let found = self.client.query_one(sql, &[]).await;
            if found.is_ok_and(|row| row.get::<_, i64>(0) >= many) {
                return Ok(Instant::now());
            }
        }
    }
}

/// Drops unused databases of earlier runs, because a server that still cleans up after them distorts the measurement.
async fn drop_unused(client: &Client) -> anyhow::Result<()> {
    let sql = "SELECT datname FROM pg_database WHERE datname LIKE 'bench\\_%' \
        AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE pg_stat_activity.datname = pg_database.datname)";
    for row in client.query(sql, &[]).await? {
        let name: &str = row.try_get(0)?;
        // Another process may use the database by now, or have dropped it.
        drop(client.batch_execute(&format!("DROP DATABASE {name}")).await);
    }
    Ok(())
}

/// A worker process, killed on drop.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn start(
    folder: &Path,
    parts: &str,
    database: &Database,
    rabbitmq: &str,
    queue: &str,
) -> anyhow::Result<Worker> {
    let child = command(folder, parts, database, rabbitmq, queue)?.spawn()?;
    Ok(Worker(child))
}

fn command(
    folder: &Path,
    parts: &str,
    database: &Database,
    rabbitmq: &str,
    queue: &str,
) -> anyhow::Result<Command> {
    let config = format!(
        "store = {{ url = \"{}\" }}\n[limits]\nstorm_cases = 1000000\n\
         [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"{rabbitmq}\"\nqueue = \"{queue}\"\ndeclare = true\n",
        database.url,
    );
    std::fs::write(folder.join("nightshift.toml"), config)?;
    let mut command = Command::new(nightshift_tests::build_program()?);
    command
        .args(["worker", "--only", parts])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

/// Milliseconds from the receipt of an alert to the last statement of its transaction, after which it is acked, as
/// the 99th percentile. Rows of one transaction share its number.
const ACKS: &str = "SELECT percentile_disc(0.99) WITHIN GROUP \
         (ORDER BY extract(epoch FROM accepted_at - received_at) * 1000)::double precision \
     FROM arrivals JOIN batches ON arrivals.xmin = batches.xmin";

/// Measures alerts per second from a full queue into the database, from the first to the last commit, and the time
/// until ack.
async fn intake(postgres: &str, rabbitmq: &str) -> anyhow::Result<Vec<Figure>> {
    let (folder, database) = (folder()?, Database::new(postgres).await?);
    let queue = format!("bench-{}", uuid::Uuid::new_v4().simple());
    let publisher = Publisher::connect(rabbitmq, &queue).await?;
    publisher.publish(&MINER.messages(ALERTS)?).await?;
    let _worker = start(folder.path(), "intake", &database, rabbitmq, &queue)?;
    // There is one row per transaction. Repeated counting of cases would be a load of its own.
    let count = "SELECT coalesce(sum(alerts), 0)::bigint FROM batches";
    let began = database.until(count, 1).await?;
    let row = database.client.query_one(count, &[]).await?;
    let already: i64 = row.get(0);
    let ended = database.until(count, i64::from(ALERTS)).await?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand alerts")]
    let rest = f64::from(ALERTS) - already as f64;
    let rate = rest / ended.duration_since(began).as_secs_f64();
    let p99_ms: f64 = database.client.query_one(ACKS, &[]).await?.get(0);
    publisher.delete_queue().await?;
    Ok(vec![
        Figure::new("intake, RabbitMQ to PostgreSQL", rate, "alerts/s").at_least(2_000.0),
        Figure::new("the same, p99 until the ack", p99_ms, "ms").at_most(250.0),
    ])
}

/// Measures the seconds from the commit of a critical alert behind many low ones to its claim.
async fn critical(postgres: &str, rabbitmq: &str) -> anyhow::Result<Figure> {
    let (folder, database) = (folder()?, Database::new(postgres).await?);
    let store =
        nightshift_store::open(&database.url, StoreOptions::new(LEASE, no_storms())).await?;
    let messages = MINER.messages(BACKLOG_ALERTS + 1)?;
    let (last, low) = messages.split_last().context("there are messages")?;
    for batch in low.chunks(BATCH) {
        let arrivals = batch.iter().map(|message| arrival(message, Severity::Low));
        store
            .accept(arrivals.collect::<anyhow::Result<_>>()?)
            .await?;
    }
    let _worker = start(folder.path(), "triage", &database, rabbitmq, "none")?;
    let concluded = "SELECT count(*) FROM cases WHERE status = 'concluded'";
    database.until(concluded, 100).await?;
    store
        .accept([arrival(last, Severity::Critical)?].into())
        .await?;
    let committed = Instant::now();
    let claimed = "SELECT count(*) FROM cases WHERE severity = 'critical' AND status <> 'queued'";
    let after = database.until(claimed, 1).await?.duration_since(committed);
    Ok(Figure::new(
        "critical behind 10,000 low, claimed after",
        after.as_secs_f64(),
        "s",
    )
    .at_most(2.0))
}

/// Measures the memory of an idle worker.
async fn idle(postgres: &str, rabbitmq: &str) -> anyhow::Result<Figure> {
    let (folder, database) = (folder()?, Database::new(postgres).await?);
    let queue = format!("bench-{}", uuid::Uuid::new_v4().simple());
    let worker = start(
        folder.path(),
        "intake,triage,delivery",
        &database,
        rabbitmq,
        &queue,
    )?;
    database.until("SELECT count(*) + 1 FROM cases", 1).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let mib = status_kib(&worker.0.id().to_string(), "VmRSS")? / 1024.0;
    Ok(Figure::new("RSS of an idle worker", mib, "MiB").at_most(40.0))
}

/// Measures the milliseconds from the start of a worker until it is ready: the store answers, and the broker has been
/// read. The figure is the median of several starts on an existing database.
async fn ready(postgres: &str, rabbitmq: &str) -> anyhow::Result<Figure> {
    let (folder, database) = (folder()?, Database::new(postgres).await?);
    let queue = format!("bench-{}", uuid::Uuid::new_v4().simple());
    let all = "intake,triage,delivery,web";
    let mut times = Vec::new();
    // The first start creates the tables.
    for _ in 0..=STARTS {
        let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let began = Instant::now();
        let worker = Worker(
            command(folder.path(), all, &database, rabbitmq, &queue)?
                .env("NIGHTSHIFT__WEB__LISTEN", free.to_string())
                .spawn()?,
        );
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        while !is_ready(free).await.unwrap_or_default() {
            looks.tick().await;
        }
        times.push(began.elapsed().as_secs_f64() * 1e3);
        drop(worker);
    }
    let times = times.split_off(1);
    Ok(Figure::new("a worker is ready after", median(times), "ms").at_most(300.0))
}

async fn is_ready(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let ask = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(ask.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}

fn arrival(message: &[u8], severity: Severity) -> anyhow::Result<Arrival> {
    let mut alerts = read_message(message, &ReadOptions::default())?.alerts;
    let mut alert = alerts.pop().context("the sample holds an alert")?;
    alert.severity = severity;
    Ok(Arrival {
        source: "bench".to_owned(),
        at: alert
            .times
            .last_seen
            .or(alert.times.created)
            .unwrap_or_default(),
        alert: Arc::new(alert),
        raw: message.into(),
        unreadable: None,
        on_demand: false,
        link: None,
    })
}
