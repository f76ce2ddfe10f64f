//! Kills workers, the database and the broker at random, replaces workers and changes passwords while alerts come in.
//! Afterwards, every alert that the broker acknowledged must have ended in exactly one place, with one report, and
//! with one ticket if one was wanted.
//!
//! ```console
//! cargo run --release -p nightshift-chaos -- --alerts 2000 --kills 200
//! cargo run --release -p nightshift-chaos -- --alerts 2000 --kills 40 --database-kills 20 --broker-kills 20
//! cargo run --release -p nightshift-chaos -- --minutes 30 --seed 7
//! cargo run --release -p nightshift-chaos -- --alerts 1000 --kills 0 --rollouts 5 --rotations 5
//! ```
//!
//! The program starts its own servers (tests/postgres, tests/rabbitmq), and the workers are the program as shipped.
//! The seed, which is printed, decides what is killed when. The interleaving of the processes is not reproducible.

mod fleet;
mod publish;
mod rotation;
mod servers;
mod tickets;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use fleet::Fleet;
use servers::{Broker, Database};
use tickets::TicketServer;
use verdict::ChaosReport;

/// Kills workers, databases and brokers at random, and reports what was lost.
#[derive(Debug, Parser)]
struct Options {
    /// Number of alerts to publish
    #[arg(long, default_value_t = 2_000)]
    alerts: usize,
    /// Number of times that a worker is killed (SIGKILL)
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// Number of times that the database is stopped at once and started again
    #[arg(long, default_value_t = 0)]
    database_kills: usize,
    /// Number of times that the broker is killed and started again
    #[arg(long, default_value_t = 0)]
    broker_kills: usize,
    /// Number of times that all workers are replaced as the chart does: migrations first, and each new worker is
    /// ready before an old one drains
    #[arg(long, default_value_t = 0)]
    rollouts: usize,
    /// A program of another version to start with; the first rollout brings the program built here
    #[arg(long)]
    previous: Option<PathBuf>,
    /// Number of times that the passwords of the database and the broker change and all connections are cut
    #[arg(long, default_value_t = 0)]
    rotations: usize,
    /// Number of workers
    #[arg(long, default_value_t = 3)]
    workers: usize,
    /// Number of concurrent cases in each worker
    #[arg(long, default_value_t = 4)]
    max_cases: usize,
    /// Publish and kill for this many minutes, a worker eight times in ten, otherwise the database or the broker; the
    /// numbers of alerts and kills above are ignored
    #[arg(long)]
    minutes: Option<u64>,
    /// Mean interval between two kills, in milliseconds
    #[arg(long, default_value_t = 400)]
    every_ms: u64,
    /// Seed that decides what is killed when
    #[arg(long)]
    seed: Option<u64>,
    /// Seconds that everything may take to end after the last kill
    #[arg(long, default_value_t = 900)]
    patience_secs: u64,
    /// Check what became of the alerts, and not how long take-overs and new passwords took
    #[arg(long)]
    untimed: bool,
}

/// Parts that a run may kill or change.
#[derive(Debug, Clone, Copy)]
enum Target {
    Worker,
    Database,
    Broker,
    Rollout,
    Rotation,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    fastrand::seed(seed);
    println!("seed {seed}");
    let program = nightshift_tests::build_program()?;
    let mut folder = tempfile::Builder::new()
        .prefix("nightshift-chaos")
        .tempdir()?;
    let judged = run(&options, &program, folder.path()).await;
    let holds = judged
        .as_ref()
        .is_ok_and(|verdict| verdict.holds() && (options.untimed || verdict.is_in_time()));
    if !holds {
        folder.disable_cleanup(true);
        println!("what the workers said is in {}", folder.path().display());
    }
    println!("{}", judged?);
    let end = if holds {
        "everything holds"
    } else {
        "NOT EVERYTHING HOLDS"
    };
    println!("{end}");
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Starts everything, disturbs it, and returns the outcome of the alerts.
async fn run(options: &Options, program: &Path, folder: &Path) -> anyhow::Result<ChaosReport> {
    let database = Database::start(folder)?;
    let broker = Broker::start(folder)?;
    rotation::prepare(folder, &database, &broker).await?;
    let desk = TicketServer::open().await?;
    let config = fleet::config(&database, &broker, &desk, options);
    std::fs::write(folder.join("nightshift.toml"), config)?;
    let mut fleet = Fleet::start(program, folder, options).await?;
    let mut publishing = JoinSet::new();
    let enough = CancellationToken::new();
    let most = options.minutes.map_or(options.alerts, |_| usize::MAX);
    let url = broker.url().to_owned();
    publishing.spawn(publish::publish_all(url, most, enough.clone()));
    let mut kills = Kills::new(options);
    disturb(&mut kills, options, &database, &broker, &mut fleet).await?;
    if options.minutes.is_some() {
        enough.cancel();
    }
    let obligations = publishing.join_next().await.context("the publisher")???;
    let begun = Instant::now();
    let look = async |fleet: &Fleet| {
        verdict::check_obligations(database.url(), fleet, &desk, &obligations).await
    };
    let mut looked = look(&fleet).await;
    while !looked.as_ref().is_ok_and(ChaosReport::is_over) {
        ensure!(
            begun.elapsed() < Duration::from_secs(options.patience_secs),
            "not everything ended: {looked:?}"
        );
        fleet.revive()?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        looked = look(&fleet).await;
    }
    // One fresh alert must be concluded.
    let fresh = publish::fresh(broker.url()).await?;
    let fresh_ended = verdict::wait_for(database.url(), &fresh, Duration::from_secs(60)).await;
    let mut verdict = looked?;
    fleet.stop();
    verdict.fresh = fresh_ended.is_ok();
    verdict.changes = std::mem::take(&mut fleet.changes);
    Ok(verdict)
}

/// The next targets: given numbers of each, shuffled, or random ones until the time is over.
enum Kills {
    Counted(std::vec::IntoIter<Target>),
    Until(Instant),
}

impl Kills {
    fn new(options: &Options) -> Self {
        if let Some(minutes) = options.minutes {
            return Self::Until(Instant::now() + Duration::from_secs(minutes * 60));
        }
        let mut targets = Vec::new();
        for (target, many) in [
            (Target::Worker, options.kills),
            (Target::Database, options.database_kills),
            (Target::Broker, options.broker_kills),
            (Target::Rollout, options.rollouts),
            (Target::Rotation, options.rotations),
        ] {
            targets.extend(std::iter::repeat_n(target, many));
        }
        fastrand::shuffle(&mut targets);
        Self::Counted(targets.into_iter())
    }
}

impl Iterator for Kills {
    type Item = Target;

    fn next(&mut self) -> Option<Target> {
        match self {
            Self::Counted(targets) => targets.next(),
            Self::Until(end) => (Instant::now() < *end).then(|| match fastrand::u8(0..10) {
                0 => Target::Database,
                1 => Target::Broker,
                _ => Target::Worker,
            }),
        }
    }
}

/// Kills one target after the other, in an order that the seed decides.
async fn disturb(
    kills: &mut Kills,
    options: &Options,
    database: &Database,
    broker: &Broker,
    fleet: &mut Fleet,
) -> anyhow::Result<()> {
    for (number, target) in kills.enumerate() {
        let pause = fastrand::u64(options.every_ms / 2..=options.every_ms * 3 / 2);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        match target {
            Target::Worker => fleet.kill_one()?,
            Target::Database => database.kill_and_start().context("the database")?,
            Target::Broker => broker.kill_and_start().context("the broker")?,
            Target::Rollout => fleet.roll_out().await.context("a rollout")?,
            Target::Rotation => {
                let took = rotation::rotate(&fleet.folder, database, broker, options.workers);
                let took = took.await.context("a rotation")?;
                fleet.changes.rotations.push(took.as_secs_f64());
            }
        }
        fleet.revive()?;
        if (number + 1) % 20 == 0 {
            println!("{} kills", number + 1);
        }
    }
    Ok(())
}
