//! Runs the commands, one file each.

mod cases;
mod config;
mod dead_letters;
mod demo;
mod destinations;
mod doctor;
mod feedback;
mod input;
mod journal;
mod migrate;
mod mutes;
mod playbooks;
mod registers;
mod replay;
mod run;
mod table;
mod tools;
mod worker;

use tokio_util::sync::CancellationToken;

use crate::args::{Args, CasesCommand, Command, DeadLettersCommand};
use crate::config::{LoadedConfig, load};
use crate::exit::Exit;
use crate::logs::log_error;
use crate::telemetry::Telemetry;
use crate::wiring::App;

/// Runs the command of the command line.
pub(crate) async fn run(args: Args) -> Result<(), Exit> {
    let named = args.config.as_deref();
    let loaded = match args.command {
        Command::Demo(_) => demo::demo_config(named)?,
        _ => load(named).map_err(Exit::Config)?,
    };
    let level = &loaded.config.log.level;
    let level = match args.command {
        // The doctor reports problems as findings, so log lines of libraries are off.
        Command::Doctor(_) => "off,nightshift_cli=error",
        // The demo prints by itself what could not be read.
        Command::Demo(_) => &format!("{level},nightshift_pipeline::intake=error"),
        _ => level,
    };
    // Only these commands open or triage cases.
    let has_traces = matches!(
        args.command,
        Command::Worker(_)
            | Command::Run(_)
            | Command::DeadLetters(DeadLettersCommand::Retry { .. })
    );
    let mut telemetry = Telemetry::start(&loaded, level, has_traces)?;
    let result = Box::pin(dispatch(loaded, args.command, &mut telemetry)).await;
    telemetry.end().await;
    result
}

async fn dispatch(
    loaded: LoadedConfig,
    command: Command,
    telemetry: &mut Telemetry,
) -> Result<(), Exit> {
    match command {
        Command::Config(command) => config::run(&loaded, &command),
        Command::Playbooks(command) => playbooks::run(&loaded, &command),
        Command::Demo(options) => demo::run(&loaded, &options).await,
        Command::Run(options) => run::run(&App::build(&loaded).await?, &options).await,
        // This command needs no store and runs on any machine.
        Command::Cases(CasesCommand::Verify(options)) => cases::verify::run(&options),
        Command::Cases(command) => {
            cases::run(&App::build_on_existing(&loaded).await?, &command).await
        }
        Command::Replay(options) => {
            replay::run(&App::build_on_existing(&loaded).await?, &options).await
        }
        Command::DeadLetters(command) => {
            dead_letters::run(&App::build_on_existing(&loaded).await?, &command).await
        }
        Command::Destinations(command) => destinations::run(&loaded, &command).await,
        Command::Feedback(command) => {
            feedback::run(&App::build_on_existing(&loaded).await?, &command).await
        }
        Command::Mutes(command) => {
            mutes::run(&App::build_on_existing(&loaded).await?, &command).await
        }
        Command::Tools(command) => tools::run(&loaded, &command).await,
        Command::Registers(command) => registers::run(&loaded, &command).await,
        Command::Doctor(options) => doctor::run(&loaded, &options).await,
        Command::Worker(options) => {
            let ended = Box::pin(worker::run(loaded, &options, telemetry)).await;
            // A JSON log must also contain the reason why the worker ended.
            ended.map_err(|exit| match telemetry.is_json() && exit.is_unreported() {
                true => {
                    log_error(&exit.message());
                    Exit::Reported(exit.code())
                }
                false => exit,
            })
        }
        Command::Migrate(json) => migrate::run(&App::build(&loaded).await?, json).await,
    }
}

/// Returns a token that the first stop signal cancels. Cases are then released at their next turn. A second signal ends
/// the process at once.
fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let told = stop.clone();
    drop(TASKS.spawn(async move {
        // The handlers exist before the first wait, so no signal is missed in between.
        let mut signals = StopSignals::new();
        signals.next().await;
        tracing::info!("stop signal received; a second one ends the process at once");
        told.cancel();
        signals.next().await;
        std::process::exit(1);
    }));
    stop
}

/// Tasks that live as long as the process.
static TASKS: std::sync::LazyLock<tokio_util::task::TaskTracker> =
    std::sync::LazyLock::new(tokio_util::task::TaskTracker::new);

/// The signals that stop a process: Ctrl-C, and SIGTERM where it exists.
struct StopSignals {
    #[cfg(unix)]
    both: Option<[tokio::signal::unix::Signal; 2]>,
}

impl StopSignals {
    fn new() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let both = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
            let both = match both {
                [Ok(interrupt), Ok(terminate)] => Some([interrupt, terminate]),
                _ => None,
            };
            Self { both }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some([interrupt, terminate]) = &mut self.both {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        drop(tokio::signal::ctrl_c().await);
    }
}
