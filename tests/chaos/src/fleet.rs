//! Starts, kills and restarts the workers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::ensure;

use crate::Options;
use crate::publish::{QUEUE, TICKETS};
use crate::rotation::{BROKER_PASSWORD, DATABASE_PASSWORD, USER};
use crate::servers::{Broker, Database};
use crate::tickets::TicketServer;
use crate::verdict::Changes;

/// Duration of a lease in seconds, as shipped.
const LEASE_SECS: u64 = 30;
/// Time limit for a worker to drain: `terminationGracePeriodSeconds` of the chart.
const GRACE: Duration = Duration::from_secs(30);
/// Time for which a draining worker accepts requests: `web.lingerSecs` of the chart.
const LINGER_SECS: u64 = 5;
/// Time limit for a new worker to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the configuration of the workers. Every case has its file, and cases of one account also get a ticket.
pub(crate) fn config(
    database: &Database,
    broker: &Broker,
    desk: &TicketServer,
    options: &Options,
) -> String {
    format!(
        "[store]\nurl = \"{}\"\npassword = \"file:{DATABASE_PASSWORD}\"\n[worker]\nmax_cases = {}\nlease_secs = {LEASE_SECS}\n\
         [limits]\nstorm_cases = 1000000\n\
         [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"{}\"\nqueue = \"{QUEUE}\"\n\
         password = \"file:{BROKER_PASSWORD}\"\ndeclare = true\n\
         [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n{}\
         [[route]]\nwhen = {{ account = [\"{TICKETS}\"] }}\ndestinations = [\"files\", \"tickets\"]\n\
         [[route]]\ndestinations = [\"files\"]\n",
        url_of_user(database.url()),
        options.max_cases,
        url_of_user(broker.url()),
        desk.table(),
    )
}

/// All workers.
pub(crate) struct Fleet {
    /// The program that runs, and the program that the next rollout brings.
    program: PathBuf,
    next: PathBuf,
    pub(crate) folder: PathBuf,
    workers: Vec<Worker>,
    /// The times at which workers were killed.
    pub(crate) kills: Vec<SystemTime>,
    /// Rollouts and rotations so far.
    pub(crate) changes: Changes,
}

struct Worker {
    child: Child,
    /// The port of the readiness page.
    port: u16,
}

impl Fleet {
    /// Starts the workers in a folder with their configuration.
    pub(crate) async fn start(
        program: &Path,
        folder: &Path,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let mut fleet = Self {
            program: options.previous.as_deref().unwrap_or(program).to_owned(),
            next: program.to_owned(),
            folder: folder.to_owned(),
            workers: Vec::new(),
            kills: Vec::new(),
            changes: Changes::default(),
        };
        for _ in 0..options.workers {
            let worker = fleet.worker()?;
            worker.wait().await?;
            fleet.workers.push(worker);
        }
        Ok(fleet)
    }

    fn worker(&self) -> anyhow::Result<Worker> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("worker.log"))?;
        let child = Command::new(&self.program)
            .arg("worker")
            .env("CHAOS_TICKETS", "hush")
            .env("NIGHTSHIFT__WEB__LISTEN", "127.0.0.1:0")
            .env("NIGHTSHIFT__WEB__LINGER_SECS", LINGER_SECS.to_string())
            .env(
                "NIGHTSHIFT__WEB__METRICS_LISTEN",
                format!("127.0.0.1:{port}"),
            )
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        Ok(Worker { child, port })
    }

    /// Replaces all workers as the chart does: the migrations run, then one new worker after the other becomes ready,
    /// and an old one drains (`maxUnavailable: 0`).
    pub(crate) async fn roll_out(&mut self) -> anyhow::Result<()> {
        self.program.clone_from(&self.next);
        let migrated = Command::new(&self.program)
            .arg("migrate")
            .env("CHAOS_TICKETS", "hush")
            .current_dir(&self.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        ensure!(migrated.success(), "the migrations failed");
        for at in 0..self.workers.len() {
            let new = self.worker()?;
            new.wait().await?;
            if let Some(place) = self.workers.get_mut(at) {
                let old = std::mem::replace(place, new);
                self.changes.drains.push(old.drain().await?);
            }
        }
        self.changes.rollouts += 1;
        Ok(())
    }

    /// Kills one worker at random.
    #[expect(
        clippy::disallowed_methods,
        reason = "compared with what the workers' clocks wrote"
    )]
    pub(crate) fn kill_one(&mut self) -> anyhow::Result<()> {
        if let Some(worker) = fastrand::choice(self.workers.iter_mut()) {
            worker.child.kill()?;
            worker.child.wait()?;
            self.kills.push(SystemTime::now());
        }
        Ok(())
    }

    /// Restarts the workers that have ended.
    pub(crate) fn revive(&mut self) -> anyhow::Result<()> {
        for at in 0..self.workers.len() {
            let has_ended = match self.workers.get_mut(at) {
                Some(worker) => worker.child.try_wait()?.is_some(),
                None => false,
            };
            if has_ended {
                let new = self.worker()?;
                if let Some(worker) = self.workers.get_mut(at) {
                    *worker = new;
                }
            }
        }
        Ok(())
    }

    /// Returns the file names of the reports at the destination.
    pub(crate) fn reports(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.folder.join("reports")) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".json"))
            .collect()
    }

    /// Kills all workers.
    pub(crate) fn stop(&mut self) {
        self.workers.clear();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Worker {
    /// Waits until the worker is ready.
    async fn wait(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !self.is_ready() {
            ensure!(begun.elapsed() < START_TIMEOUT, "a new worker is not ready");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Returns whether the worker is ready.
    fn is_ready(&self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let asked =
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).and_then(|mut stream| {
                stream.set_read_timeout(Some(Duration::from_secs(5)))?;
                write!(
                    stream,
                    "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
                )?;
                let mut answer = String::new();
                stream.read_to_string(&mut answer)?;
                Ok(answer)
            });
        asked.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    /// Drains the worker and waits for its end. Returns the seconds taken, or `None` if the worker failed or had to
    /// be killed.
    async fn drain(mut self) -> anyhow::Result<Option<f64>> {
        let told = Command::new("kill")
            .args(["-s", "TERM", &self.child.id().to_string()])
            .status()?;
        ensure!(told.success(), "a worker cannot be told to end");
        let since = Instant::now();
        while since.elapsed() < GRACE {
            if let Some(status) = self.child.try_wait()? {
                let took = since.elapsed().as_secs_f64();
                return Ok(status.success().then_some(took));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(None)
    }
}

/// Returns the URL with the workers' user and no password, which is in a file.
fn url_of_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (_, place) = rest.split_once('@').unwrap_or_default();
    format!("{scheme}://{USER}@{place}")
}
