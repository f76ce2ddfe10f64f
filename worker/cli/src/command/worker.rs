//! `nightshift worker`: the loops, until somebody says stop.
//!
//! Everything that can be wrong from the start is told before the first message is taken. Afterwards nothing but a signal
//! ends the process: a store, a broker or a model that is away is waited for.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use nightshift_pipeline::{InboxRoom, Match};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::args::{Part, Worker};
use crate::exit::Exit;
use crate::output::say;
use crate::wiring::{App, Loop, Sources};

/// How long the parts have to end once they are told to. Cases that were not given back by then are free when their
/// leases end.
const GRACE: Duration = Duration::from_secs(9);

pub(super) async fn run(app: &App, options: &Worker) -> Result<(), Exit> {
    let sources = if options.does(Part::Intake) {
        app.sources().await?
    } else {
        Vec::new()
    };
    if options.does(Part::Delivery) {
        app.check_destinations()?;
    }
    let triaging = match options.does(Part::Triage) {
        true => Some(app.triaging()?),
        false => None,
    };
    let stop = super::stop_on_signal();
    let mut parts = JoinSet::new();
    let room = Arc::new(InboxRoom::new(app.config.worker.inbox_max));
    if options.does(Part::Web) {
        serve(app, &sources, &stop, &mut parts).await?;
    }
    spawn(&mut parts, app.gauges(Arc::clone(&room)), &stop);
    for (source, feeds) in &sources {
        spawn(&mut parts, app.taking(source, feeds.clone(), &room), &stop);
    }
    if let Some(triaging) = triaging {
        say_what_goes_nowhere(app);
        spawn(&mut parts, triaging, &stop);
    }
    if options.does(Part::Delivery) {
        for one in app.delivering() {
            spawn(&mut parts, one, &stop);
        }
        spawn(&mut parts, app.keeping(), &stop);
    }
    say(&format!(
        "nightshift {} works: {}; stop it with Ctrl-C or SIGTERM",
        env!("CARGO_PKG_VERSION"),
        describe(options, &sources)
    ));
    wait(parts, &stop).await
}

type Parts = JoinSet<Result<(), Exit>>;

fn spawn(parts: &mut Parts, part: impl Loop, stop: &CancellationToken) {
    let stop = stop.clone();
    parts.spawn(async move {
        part.run(stop).await;
        Ok(())
    });
}

/// The pages; the address is bound before anything else is done, so that one that is taken is told at once.
async fn serve(
    app: &App,
    sources: &Sources,
    stop: &CancellationToken,
    parts: &mut Parts,
) -> Result<(), Exit> {
    let sources = sources
        .iter()
        .map(|(source, _)| Arc::clone(source))
        .collect();
    let bound = app.worker_server(sources)?.bind().await;
    let bound = bound.context("[web]").map_err(Exit::Failed)?;
    let address = bound.address().context("[web]").map_err(Exit::Failed)?;
    say(&format!("the cases are on http://{address}/"));
    let stop = stop.clone();
    parts.spawn(async move {
        let served = bound.serve(stop).await;
        served.context("[web]").map_err(Exit::Failed)
    });
    Ok(())
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
        (Part::Intake, "intake"),
        (Part::Triage, "triage"),
        (Part::Delivery, "delivery"),
        (Part::Web, "web"),
    ] {
        if options.does(part) {
            words.push(match part {
                Part::Intake => {
                    let names: Vec<&str> =
                        sources.iter().map(|(source, _)| source.name()).collect();
                    format!("{word} from {}", names.join(", "))
                }
                _ => word.to_owned(),
            });
        }
    }
    words.join("; ")
}

/// Waits until all parts have ended. A part that ends before it was told to is a fault of ours, or of the address of the
/// pages: the others are stopped, and the process says so and ends.
async fn wait(mut parts: Parts, stop: &CancellationToken) -> Result<(), Exit> {
    let mut result = Ok(());
    loop {
        let ended = tokio::select! {
            () = stop.cancelled() => break,
            ended = parts.join_next() => ended,
        };
        let Some(ended) = ended else {
            return result;
        };
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                result = Err(error);
                stop.cancel();
            }
            Err(error) => {
                result = Err(Exit::Failed(anyhow!(
                    "a part of the worker panicked: {error}"
                )));
                stop.cancel();
            }
        }
    }
    let all = async { while parts.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, all).await.is_err() {
        say("not everything could be given back in time; leases end by themselves");
    }
    result
}
