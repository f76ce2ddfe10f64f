//! A crew: the parts of a worker under one configuration.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use nightshift_pipeline::{CanarySending, InboxRoom, Match, Triaging};
use nightshift_web::{Bound, Server};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::{Part as Does, Worker};
use crate::exit::Exit;
use crate::output::say;
use crate::wiring::{App, Loop, Sources};

/// How long a crew has to end its sending and its answers before the next one begins.
const HAND_OVER: Duration = Duration::from_secs(9);

/// What a part came to.
pub(super) struct Part(pub(super) Result<(), Exit>);

/// Everything that a configuration asks for, built and found right. Nothing of it runs yet.
pub(super) struct Ready {
    room: Arc<InboxRoom>,
    sources: Sources,
    triaging: Option<Triaging>,
    canary: Option<CanarySending>,
    pages: Option<Pages>,
}

enum Pages {
    /// Their addresses were free, and are ours from now on.
    Bound(Box<Bound>),
    /// An address of theirs is one of the crew before.
    Waiting(Box<Server>),
}

/// The parts that run.
pub(super) struct Crew {
    /// Ends all but triage.
    stop: CancellationToken,
    /// Has triage end what it has begun, and begin nothing more.
    enough: CancellationToken,
    /// The parts that end before the next crew begins.
    leaving: TaskTracker,
    /// Where its pages are.
    addresses: Vec<String>,
}

impl Ready {
    /// Builds what the configuration asks for.
    pub(super) async fn of(app: &App, options: &Worker, old: Option<&Crew>) -> Result<Self, Exit> {
        let room = Arc::new(InboxRoom::new(app.config.worker.inbox_max));
        let mut sources = if options.does(Does::Intake) {
            app.sources(&room).await?
        } else {
            Sources::default()
        };
        let canary = match options.does(Does::Intake) {
            true => app.canary_sending().await?,
            false => None,
        };
        if sources.http.is_some() && !options.does(Does::Web) {
            return Err(Exit::usage(
                "a [[source]] of the kind http is posted to, and nobody would serve it; use --only intake,web".to_owned(),
            ));
        }
        if options.does(Does::Delivery) {
            app.check_destinations()?;
        }
        let triaging = match options.does(Does::Triage) {
            true => Some(app.triaging()?),
            false => None,
        };
        let pages = match options.does(Does::Web) {
            true => Some(pages(app, &mut sources, old).await?),
            false => None,
        };
        Ok(Self {
            room,
            sources,
            triaging,
            canary,
            pages,
        })
    }

    /// Starts all parts.
    pub(super) async fn start(
        self,
        app: &App,
        options: &Worker,
        parts: &mut JoinSet<Part>,
        process: &CancellationToken,
    ) -> Result<Crew, Exit> {
        let crew = Crew {
            stop: process.child_token(),
            enough: CancellationToken::new(),
            leaving: TaskTracker::new(),
            addresses: app.addresses(),
        };
        if let Some(pages) = self.pages {
            crew.serve(app, pages, parts).await?;
        }
        let room = &self.room;
        crew.spawn(parts, app.gauges(Arc::clone(room)));
        for (source, feeds) in &self.sources.all {
            crew.spawn(parts, app.taking(source, feeds.clone(), room));
        }
        if let Some(canary) = self.canary {
            crew.spawn(parts, canary);
        }
        if let Some(triaging) = self.triaging {
            say_what_goes_nowhere(app);
            crew.triage(parts, triaging, process.clone());
        }
        if options.does(Does::Delivery) {
            for one in app.delivering() {
                crew.spawn(parts, one);
            }
            crew.spawn(parts, app.keeping());
        }
        say(&format!(
            "nightshift {} works: {}; stop it with Ctrl-C or SIGTERM",
            env!("CARGO_PKG_VERSION"),
            describe(options, &self.sources)
        ));
        Ok(crew)
    }
}

/// The pages. An address that is taken is told at once; that of the crew before is free when that has ended.
async fn pages(app: &App, sources: &mut Sources, old: Option<&Crew>) -> Result<Pages, Exit> {
    let ready = sources.all.iter();
    let ready = ready.map(|(source, _)| Arc::clone(source)).collect();
    let server = app.worker_server(ready, sources.http.take())?;
    let taken = |address: &String| old.is_some_and(|old| old.addresses.contains(address));
    if app.addresses().iter().any(taken) {
        return Ok(Pages::Waiting(Box::new(server)));
    }
    let bound = server.bind().await.context("[web]").map_err(Exit::Failed)?;
    Ok(Pages::Bound(Box::new(bound)))
}

impl Crew {
    /// Ends all parts but triage, which begins nothing more and ends what it has begun.
    pub(super) async fn make_way(&self) {
        self.enough.cancel();
        self.stop.cancel();
        self.leaving.close();
        if tokio::time::timeout(HAND_OVER, self.leaving.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "a part of the crew before takes long to end; the new one begins beside it"
            );
        }
    }

    fn spawn(&self, parts: &mut JoinSet<Part>, part: impl Loop) {
        let stop = self.stop.clone();
        parts.spawn(self.leaving.track_future(async move {
            part.run(stop).await;
            Part(Ok(()))
        }));
    }

    fn triage(&self, parts: &mut JoinSet<Part>, triaging: Triaging, process: CancellationToken) {
        let enough = self.enough.clone();
        parts.spawn(async move {
            triaging.run_until(&process, &enough).await;
            Part(Ok(()))
        });
    }

    async fn serve(&self, app: &App, pages: Pages, parts: &mut JoinSet<Part>) -> Result<(), Exit> {
        let bound = match pages {
            Pages::Bound(bound) => Ok(*bound),
            Pages::Waiting(server) => server.bind().await,
        };
        let bound = bound.context("[web]").map_err(Exit::Failed)?;
        let address = bound.address().context("[web]").map_err(Exit::Failed)?;
        say(&format!("the cases are on http://{address}/"));
        if app.is_posted_to() {
            let address = bound.intake_address().unwrap_or(address);
            say(&format!("alerts are posted to http://{address}/v1/alerts"));
        }
        let stop = self.stop.clone();
        parts.spawn(self.leaving.track_future(async move {
            let served = bound.serve(stop).await;
            Part(served.context("[web]").map_err(Exit::Failed))
        }));
        Ok(())
    }
}

/// An alert that no rule sends anywhere has its report on the pages alone: somebody may not have meant that.
fn say_what_goes_nowhere(app: &App) {
    let sends_all = app.config.routes.iter().any(|route| {
        let goes_somewhere = route
            .destinations
            .as_ref()
            .is_some_and(|all| !all.is_empty());
        goes_somewhere && route.when == Match::default()
    });
    if !sends_all {
        say(
            "note: alerts that no [[route]] with destinations fits are told of by `cases list` and the pages alone",
        );
    }
}

fn describe(options: &Worker, sources: &Sources) -> String {
    let mut words = Vec::new();
    for (part, word) in [
        (Does::Intake, "intake"),
        (Does::Triage, "triage"),
        (Does::Delivery, "delivery"),
        (Does::Web, "web"),
    ] {
        if options.does(part) {
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
