//! Builds and runs a generation: the parts of a worker under one configuration.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use nightshift_pipeline::canary::CanaryLoop;
use nightshift_pipeline::loops::{InboxCapacity, TriageLoop};
use nightshift_pipeline::port::Source;
use nightshift_pipeline::route::Match;
use nightshift_web::{BoundServer, Listeners, SourceReadiness};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::{WorkerArgs, WorkerPart as Does};
use crate::exit::Exit;
use crate::logs::log_notice;
use crate::wiring::{App, SourceWithFeeds, Sources, WorkerLoop};

/// The time that the old generation has to end its deliveries before the next one begins.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(9);

/// All parts of a configuration, built and checked. None of them runs yet.
pub(super) struct PreparedGeneration {
    pub(super) app: App,
    room: Arc<InboxCapacity>,
    sources: Sources,
    triaging: Option<TriageLoop>,
    canary: Option<CanaryLoop>,
    pages: Option<BoundServer>,
    awaited: Vec<Arc<SourceReadiness>>,
}

/// The running parts of a generation.
pub(super) struct Generation {
    /// Also keeps the state that the next generation continues with.
    pub(super) app: App,
    /// Stops all parts except running cases, open requests and the intake of what these post.
    stop: CancellationToken,
    /// The parts that end before the next generation begins.
    leaving: TaskTracker,
    /// The listeners of the pages.
    listeners: Listeners,
    /// The sources and whether each was ready, for the next generation.
    awaited: Vec<Arc<SourceReadiness>>,
}

impl PreparedGeneration {
    /// Builds all parts of the configuration.
    pub(super) async fn build(
        app: App,
        options: &WorkerArgs,
        old: Option<&Generation>,
    ) -> Result<Self, Exit> {
        let room = Arc::new(InboxCapacity::new(app.config.worker.inbox_max));
        let mut sources = if options.runs(Does::Intake) {
            app.sources(&room).await?
        } else {
            Sources::default()
        };
        let canary = match options.runs(Does::Intake) {
            true => app.canary_loop().await?,
            false => None,
        };
        if sources.http.is_some() && !options.runs(Does::Web) {
            return Err(Exit::usage(
                "a [[source]] of the kind http is posted to, and nobody would serve it; use --only intake,web".to_owned(),
            ));
        }
        if options.runs(Does::Delivery) {
            app.check_destinations()?;
        }
        let triaging = match options.runs(Does::Triage) {
            true => Some(app.triage_loop()?),
            false => None,
        };
        let awaited = awaited(&sources, old);
        let pages = match options.runs(Does::Web) {
            true => Some(pages(&app, &mut sources, &awaited, old).await?),
            false => None,
        };
        Ok(Self {
            app,
            room,
            sources,
            triaging,
            canary,
            pages,
            awaited,
        })
    }

    /// Starts all parts. An earlier generation has been drained.
    pub(super) async fn start(
        self,
        options: &WorkerArgs,
        parts: &mut JoinSet<()>,
        process: &CancellationToken,
    ) -> Generation {
        let mut new = Generation {
            app: self.app,
            stop: process.child_token(),
            leaving: TaskTracker::new(),
            listeners: Listeners::default(),
            awaited: self.awaited,
        };
        let all = self.sources.all.iter();
        let (posted, read): (Vec<_>, Vec<_>) = all.partition(|(one, _)| one.kind() == "http");
        let observed = read.iter().map(|(source, _)| Arc::clone(source)).collect();
        let gauges = new.app.gauge_loop(Arc::clone(&self.room), observed);
        new.spawn(parts, gauges);
        let loops = |all: Vec<&SourceWithFeeds>, app: &App| {
            let build = |(source, feeds): &SourceWithFeeds| {
                app.ingest_loop(source, feeds.clone(), &self.room)
            };
            all.into_iter().map(build).collect::<Vec<_>>()
        };
        if let Some(pages) = self.pages {
            let posted = loops(posted, &new.app);
            new.serve(posted, pages, parts, process).await;
        }
        for one in loops(read, &new.app) {
            new.spawn(parts, one);
        }
        if let Some(canary) = self.canary {
            new.spawn(parts, canary);
        }
        if let Some(triaging) = self.triaging {
            new.triage(parts, triaging, process.clone());
        }
        if options.runs(Does::Delivery) {
            new.app.warn_orphaned_backlogs().await;
            for one in new.app.delivery_loops() {
                new.spawn(parts, one);
            }
            new.spawn(parts, new.app.retention_loop());
        }
        log_notice(&format!(
            "nightshift {} started: {}; stop it with Ctrl-C or SIGTERM",
            env!("CARGO_PKG_VERSION"),
            describe(options, &self.sources)
        ));
        new
    }
}

/// Returns the sources whose readiness the pages show. Those that were ready in the old generation count as ready.
fn awaited(sources: &Sources, old: Option<&Generation>) -> Vec<Arc<SourceReadiness>> {
    let before = old.map_or(&[][..], |old| &old.awaited);
    let after = |source: &Arc<dyn Source>| SourceReadiness::carry_over(Arc::clone(source), before);
    let all = sources.all.iter();
    all.map(|(source, _)| Arc::new(after(source))).collect()
}

/// Binds the pages. An address in use is reported at once. Addresses of the old generation are kept, or are free
/// after it has ended.
async fn pages(
    app: &App,
    sources: &mut Sources,
    awaited: &[Arc<SourceReadiness>],
    old: Option<&Generation>,
) -> Result<BoundServer, Exit> {
    let server = app.worker_server(awaited, sources.http.take())?;
    let none = Listeners::default();
    let before = old.map_or(&none, |old| &old.listeners);
    let bound = server.bind_replacing(before).await;
    bound.context("[web]").map_err(Exit::Failed)
}

impl Generation {
    /// Stops claiming cases and waits until the parts have ended that the next generation replaces. Running cases go on,
    /// because their requests to models are paid for.
    pub(super) async fn drain(&self) {
        self.stop.cancel();
        self.leaving.close();
        let ended = tokio::time::timeout(HANDOVER_TIMEOUT, self.leaving.wait());
        if ended.await.is_err() {
            tracing::warn!(
                "the previous generation is slow to stop; starting the next one beside it"
            );
        }
    }

    /// Hands the listeners over to the next generation. This comes last, so posts hardly wait, and is not interrupted, so
    /// that somebody accepts them.
    pub(super) async fn hand_over(&self) {
        self.listeners.hand_over().await;
    }

    fn spawn(&self, parts: &mut JoinSet<()>, part: impl WorkerLoop) {
        let stop = self.stop.clone();
        parts.spawn(self.leaving.track_future(async move {
            part.run(stop).await;
        }));
    }

    fn triage(&self, parts: &mut JoinSet<()>, triaging: TriageLoop, process: CancellationToken) {
        self.app.init_triage_metrics();
        say_what_goes_nowhere(&self.app);
        if let Some(watch) = self.app.register_watch() {
            self.spawn(parts, watch);
        }
        let enough = self.stop.clone();
        parts.spawn(async move {
            triaging.run_until_drained(&process, &enough).await;
        });
    }

    /// Serves the pages. The intake of posted alerts ends after all requests, because senders wait for an answer.
    async fn serve(
        &mut self,
        posted: Vec<impl WorkerLoop>,
        pages: BoundServer,
        parts: &mut JoinSet<()>,
        process: &CancellationToken,
    ) {
        let is_posted_to = !posted.is_empty();
        let answered = CancellationToken::new();
        for one in posted {
            let stop = answered.clone();
            parts.spawn(async move {
                one.run(stop).await;
            });
        }
        let (listeners, serving) = pages.open(process).await;
        parts.spawn(async move {
            serving.into_iter().collect::<JoinSet<_>>().join_all().await;
            answered.cancel();
        });
        self.listeners = listeners;
        if let Some(address) = self.listeners.address() {
            log_notice(&format!("the cases are on http://{address}/"));
        }
        let posts = self.listeners.intake_address().filter(|_| is_posted_to);
        if let Some(address) = posts {
            log_notice(&format!("alerts are posted to http://{address}/v1/alerts"));
        }
    }
}

/// Prints a note if some alerts match no route with destinations, because that may be unintended.
fn say_what_goes_nowhere(app: &App) {
    let sends_all = app.config.routes.iter().any(|route| {
        let goes_somewhere = route
            .destinations
            .as_ref()
            .is_some_and(|all| !all.is_empty());
        goes_somewhere && route.when == Match::default()
    });
    if !sends_all {
        log_notice(
            "note: alerts that match no [[route]] with destinations appear only in `cases list` \
             and on the pages",
        );
    }
}

fn describe(options: &WorkerArgs, sources: &Sources) -> String {
    let mut words = Vec::new();
    for (part, word) in [
        (Does::Intake, "intake"),
        (Does::Triage, "triage"),
        (Does::Delivery, "delivery"),
        (Does::Web, "web"),
    ] {
        if options.runs(part) {
            words.push(match part {
                Does::Intake => {
                    let all = sources.all.iter();
                    let names: Vec<&str> = all.map(|(source, _)| source.name()).collect();
                    format!("{word} from {}", names.join(", "))
                }
                _ => word.to_owned(),
            });
        }
    }
    words.join("; ")
}
