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
use crate::wiring::{App, CarriedState, Sources, WorkerLoop};

/// The time that the old generation has to end its deliveries before the next one begins.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(9);

/// The time that requests to the old generation may take: the longest answer plus a margin.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(11);

/// All parts of a configuration, built and checked. None of them runs yet.
pub(super) struct PreparedGeneration {
    room: Arc<InboxCapacity>,
    sources: Sources,
    triaging: Option<TriageLoop>,
    canary: Option<CanaryLoop>,
    pages: Option<BoundServer>,
    awaited: Vec<Arc<SourceReadiness>>,
}

/// The running parts of a generation.
pub(super) struct Generation {
    /// Stops all parts except triage and the intake of posted alerts.
    stop: CancellationToken,
    /// Stops the intake of posted alerts. This happens later, because senders wait for an answer.
    posted: CancellationToken,
    /// Drains triage.
    enough: CancellationToken,
    /// The parts that end before the next generation begins.
    leaving: TaskTracker,
    /// The listeners of the pages.
    doors: Listeners,
    /// The sources and whether each was ready, for the next generation.
    awaited: Vec<Arc<SourceReadiness>>,
    /// The state that the next generation continues with.
    pub(super) carried_state: CarriedState,
    /// The time for which the pages answer after all else has ended.
    pub(super) linger: Duration,
}

impl PreparedGeneration {
    /// Builds all parts of the configuration.
    pub(super) async fn build(
        app: &App,
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
            true => Some(pages(app, &mut sources, &awaited, old).await?),
            false => None,
        };
        Ok(Self {
            room,
            sources,
            triaging,
            canary,
            pages,
            awaited,
        })
    }

    /// Starts all parts in place of the old generation. Requests in between wait and are not refused.
    pub(super) async fn start(
        mut self,
        app: &App,
        options: &WorkerArgs,
        old: Option<&Generation>,
        parts: &mut JoinSet<()>,
        process: &CancellationToken,
    ) -> Generation {
        let mut crew = Generation {
            stop: process.child_token(),
            posted: CancellationToken::new(),
            enough: CancellationToken::new(),
            leaving: TaskTracker::new(),
            doors: Listeners::default(),
            awaited: self.awaited,
            carried_state: app.carried_state(),
            linger: app.config.web.linger(),
        };
        let room = &self.room;
        let read = self.sources.all.iter().map(|(source, _)| source);
        let read = read.filter(|source| !is_posted(source)).cloned().collect();
        crew.spawn(parts, app.gauge_loop(Arc::clone(room), read));
        for (source, feeds) in self.sources.all.iter().filter(|(one, _)| is_posted(one)) {
            crew.take_posted(parts, app.ingest_loop(source, feeds.clone(), room));
        }
        if let Some(old) = old {
            tokio::select! {
                biased;
                () = process.cancelled() => {
                    crew.end_with(&old.doors, parts, process);
                    return crew;
                }
                () = old.drain(self.pages.as_mut(), parts) => {}
            }
            app.apply_config_to_metrics();
        }
        if let Some(pages) = self.pages {
            let is_posted_to = self.sources.all.iter().any(|(one, _)| is_posted(one));
            crew.serve(is_posted_to, pages, parts, process).await;
        }
        crew.end_with(&crew.doors, parts, process);
        for (source, feeds) in self.sources.all.iter().filter(|(one, _)| !is_posted(one)) {
            crew.spawn(parts, app.ingest_loop(source, feeds.clone(), room));
        }
        if let Some(canary) = self.canary {
            crew.spawn(parts, canary);
        }
        if let Some(triaging) = self.triaging {
            crew.triage(app, parts, triaging, process.clone());
        }
        if options.runs(Does::Delivery) {
            app.warn_orphaned_backlogs().await;
            for one in app.delivery_loops() {
                crew.spawn(parts, one);
            }
            crew.spawn(parts, app.retention_loop());
        }
        log_notice(&format!(
            "nightshift {} started: {}; stop it with Ctrl-C or SIGTERM",
            env!("CARGO_PKG_VERSION"),
            describe(options, &self.sources)
        ));
        crew
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
    let bound = server
        .bind_replacing(old.map_or(&none, |old| &old.doors))
        .await;
    bound.context("[web]").map_err(Exit::Failed)
}

impl Generation {
    /// Stops the old generation. Triage drains. The intake of posted alerts ends after the requests received so far
    /// are answered; later requests go to the new pages.
    async fn drain(&self, pages: Option<&mut BoundServer>, parts: &mut JoinSet<()>) {
        let relieved = pages.map(|pages| Arc::new(pages.take_over(&self.doors)));
        self.enough.cancel();
        self.stop.cancel();
        self.leaving.close();
        let (posted, answering) = (self.posted.clone(), relieved.clone());
        parts.spawn(async move {
            if let Some(answering) = answering {
                drop(tokio::time::timeout(RESPONSE_TIMEOUT, answering.wait_answered()).await);
            }
            posted.cancel();
        });
        let ended = async {
            if let Some(relieved) = &relieved {
                relieved.wait_closed().await;
            }
            self.leaving.wait().await;
        };
        if tokio::time::timeout(HANDOVER_TIMEOUT, ended).await.is_err() {
            tracing::warn!(
                "the previous generation is slow to stop; starting the next one beside it"
            );
        }
    }

    /// Stops the intake of posted alerts after the process was asked to stop and the listeners closed. All senders have
    /// their answers by then.
    fn end_with(&self, doors: &Listeners, parts: &mut JoinSet<()>, process: &CancellationToken) {
        let (posted, process, ended) = (self.posted.clone(), process.clone(), doors.ended());
        parts.spawn(async move {
            let over = async {
                process.cancelled().await;
                ended.await;
            };
            tokio::select! {
                () = posted.cancelled() => {}
                () = over => posted.cancel(),
            }
        });
    }

    fn take_posted(&self, parts: &mut JoinSet<()>, taking: impl WorkerLoop) {
        let stop = self.posted.clone();
        parts.spawn(async move {
            taking.run(stop).await;
        });
    }

    fn spawn(&self, parts: &mut JoinSet<()>, part: impl WorkerLoop) {
        let stop = self.stop.clone();
        parts.spawn(self.leaving.track_future(async move {
            part.run(stop).await;
        }));
    }

    fn triage(
        &self,
        app: &App,
        parts: &mut JoinSet<()>,
        triaging: TriageLoop,
        process: CancellationToken,
    ) {
        app.init_triage_metrics();
        say_what_goes_nowhere(app);
        if let Some(watch) = app.register_watch() {
            self.spawn(parts, watch);
        }
        let enough = self.enough.clone();
        parts.spawn(async move {
            triaging.run_until_drained(&process, &enough).await;
        });
    }

    async fn serve(
        &mut self,
        is_posted_to: bool,
        pages: BoundServer,
        parts: &mut JoinSet<()>,
        process: &CancellationToken,
    ) {
        let (doors, serving) = pages.open(process).await;
        for one in serving {
            parts.spawn(one);
        }
        self.doors = doors;
        if let Some(address) = self.doors.address() {
            log_notice(&format!("the cases are on http://{address}/"));
        }
        let posts = self.doors.intake_address().filter(|_| is_posted_to);
        if let Some(address) = posts {
            log_notice(&format!("alerts are posted to http://{address}/v1/alerts"));
        }
    }
}

fn is_posted(source: &Arc<dyn Source>) -> bool {
    source.kind() == "http"
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
