//! Serves liveness, readiness and metrics.
//!
//! `/healthz` says only that the event loop runs, since a restart helps against nothing else. `/readyz` asks every part
//! with a timeout and reports one line for each part. Both are open to everybody, so they report no addresses or
//! causes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use nightshift_alert::text::sanitize;
use nightshift_pipeline::port::{Cases, Source};
use tokio::time::timeout;

use crate::app_state::AppState;
use crate::server::{DrainMarker, ListenerRole};

/// Timeout for the answer of a part.
const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// Renders the metrics in the text format of Prometheus, or returns the reason why there are none.
pub type MetricsText = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// A part of the process that must be ready for work.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Returns the name: `store`, or that of a source.
    fn name(&self) -> &str;

    /// Checks whether the part is ready.
    ///
    /// # Errors
    ///
    /// Returns the reason why the part is not ready, in half a sentence without addresses or secrets, since anybody can
    /// read it.
    async fn ready(&self) -> Result<(), String>;

    /// Returns whether the process is unready without this part.
    fn is_required(&self) -> bool {
        true
    }
}

/// Readiness of a source: whether messages can be received. If a source fails after it was ready once, the failure is
/// only reported, and the process stays ready: the pages and the HTTP intake work without it. A source that was never
/// ready makes the process unready, so that a new version with a wrong password does not replace a working one.
pub struct SourceReadiness {
    source: Arc<dyn Source>,
    /// Shared with later sources of the same name.
    was_reachable: Arc<AtomicBool>,
}

impl SourceReadiness {
    /// Creates the readiness of a source that was not reached yet.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            was_reachable: Arc::default(),
        }
    }

    /// Creates the readiness of a source after a reload. If a source of the same name was ready before, this one is
    /// not required either, so that no edit makes the process unready while a broker is down.
    #[must_use]
    pub fn carry_over(source: Arc<dyn Source>, before: &[Arc<Self>]) -> Self {
        let mut before = before.iter();
        let same = before.find(|one| one.source.name() == source.name());
        let was_there = same.map(|one| Arc::clone(&one.was_reachable));
        Self {
            source,
            was_reachable: was_there.unwrap_or_default(),
        }
    }
}

#[async_trait]
impl Readiness for SourceReadiness {
    fn name(&self) -> &str {
        self.source.name()
    }

    async fn ready(&self) -> Result<(), String> {
        let ready = self.source.ready();
        if ready.is_ok() {
            self.was_reachable.store(true, Ordering::Relaxed);
        }
        ready.map_err(|why| {
            tracing::debug!(
                source.name = self.source.name(),
                why,
                "a source is not ready"
            );
            // The reason contains addresses, and anybody can read this response.
            "no messages can come; the log says why".to_owned()
        })
    }

    fn is_required(&self) -> bool {
        !self.was_reachable.load(Ordering::Relaxed)
    }
}

/// Readiness of the store: whether it answers a small query over connections of its own, and has room for what is
/// written.
pub struct StoreReadiness(pub Arc<dyn Cases>);

#[async_trait]
impl Readiness for StoreReadiness {
    fn name(&self) -> &'static str {
        "store"
    }

    async fn ready(&self) -> Result<(), String> {
        let (waiting, problem) = tokio::join!(self.0.waiting(), self.0.connection_problem());
        if let Some(problem) = problem {
            return Err(problem.to_owned());
        }
        match waiting {
            Ok(_) if self.0.is_disk_full() => Err("its disk is full".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

pub(crate) async fn ready(
    State(site): State<Arc<AppState>>,
    leaving: Option<Extension<DrainMarker>>,
) -> Response {
    if leaving.is_some() {
        let told = "told to stop: what comes still is answered, and others are to be asked\n";
        return (StatusCode::SERVICE_UNAVAILABLE, told).into_response();
    }
    let mut lines = String::new();
    let mut status = StatusCode::OK;
    for part in &site.parts.readiness {
        let asked = timeout(READINESS_TIMEOUT, part.ready()).await;
        let asked = asked.unwrap_or_else(|_| {
            Err(format!(
                "no answer within {} s",
                READINESS_TIMEOUT.as_secs()
            ))
        });
        let told = match asked {
            Ok(()) => "ready".to_owned(),
            Err(why) if part.is_required() => {
                status = StatusCode::SERVICE_UNAVAILABLE;
                format!("not ready: {}", sanitize(&why, 200))
            }
            Err(why) => format!("away: {}", sanitize(&why, 200)),
        };
        lines.push_str(&format!("{}: {told}\n", sanitize(part.name(), 60)));
    }
    let late = |place| {
        let mut all = site.listeners.get().into_iter().flatten();
        all.any(|one| one.is_pending(place))
    };
    for (place, name, is_needed) in [
        (ListenerRole::Pages, "listen", true),
        (ListenerRole::Intake, "intake_listen", true),
        // The metrics listener does not need the store.
        (ListenerRole::Metrics, "metrics_listen", false),
    ] {
        if late(place) {
            let told = if is_needed { "not ready" } else { "away" };
            lines.push_str(&format!(
                "{name}: {told}: nobody can listen there; the log says why\n"
            ));
            if is_needed {
                status = StatusCode::SERVICE_UNAVAILABLE;
            }
        }
    }
    (status, lines).into_response()
}

pub(crate) async fn metrics(State(site): State<Arc<AppState>>) -> Response {
    match (site.parts.metrics)() {
        Ok(text) => (
            [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
            text,
        )
            .into_response(),
        Err(why) => {
            tracing::error!(why, "cannot render the metrics");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "cannot render the metrics; the log says why\n",
            )
                .into_response()
        }
    }
}
