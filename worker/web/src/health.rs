//! Is the process alive, is it ready, and its figures.
//!
//! `/healthz` says only that the event loop turns: a restart helps against nothing else. `/readyz` asks every part, each
//! with a time of its own, and tells one line per part. Both are open, so neither tells addresses or causes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use nightshift_alert::text::plain;
use nightshift_pipeline::{Cases, Source};
use tokio::time::timeout;

use crate::server::{Leaving, Place};
use crate::site::Site;

/// How long a part has to answer.
const ASK: Duration = Duration::from_secs(2);

/// The metrics as they are now, in the text format of Prometheus; or in words why there are none.
pub type MetricsText = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// A part that must be there before work can be done.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Its name: `store`, or that of a source.
    fn name(&self) -> &str;

    /// Whether it is there. Anybody may read why not: no addresses, no secrets.
    ///
    /// # Errors
    ///
    /// Why not, in half a sentence.
    async fn ready(&self) -> Result<(), String>;

    /// Whether nothing should be asked of this process while the part is not there.
    fn is_needed(&self) -> bool {
        true
    }
}

/// Readiness of a source: that messages can come. One that could be read once and is away since is told of, and no more: the
/// pages and what is posted go on without it. One that never could is needed, so that a new version with a wrong password
/// does not take the place of one that works.
pub struct SourceReady {
    source: Arc<dyn Source>,
    /// Whoever comes after it under its name shares it.
    was_there: Arc<AtomicBool>,
}

impl SourceReady {
    /// Of a source that nobody has read yet.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            was_there: Arc::default(),
        }
    }

    /// Of a source that a configuration names which is taken up: one that was there under the same name is waited for no
    /// more than before, so that no edit makes processes unready while a broker is away.
    #[must_use]
    pub fn after(source: Arc<dyn Source>, before: &[Arc<Self>]) -> Self {
        let mut before = before.iter();
        let same = before.find(|one| one.source.name() == source.name());
        let was_there = same.map(|one| Arc::clone(&one.was_there));
        Self {
            source,
            was_there: was_there.unwrap_or_default(),
        }
    }
}

#[async_trait]
impl Readiness for SourceReady {
    fn name(&self) -> &str {
        self.source.name()
    }

    async fn ready(&self) -> Result<(), String> {
        let ready = self.source.ready();
        if ready.is_ok() {
            self.was_there.store(true, Ordering::Relaxed);
        }
        ready.map_err(|why| {
            tracing::debug!(
                source.name = self.source.name(),
                why,
                "a source is not ready"
            );
            // The reason names addresses, and anybody may read this.
            "no messages can come; the log says why".to_owned()
        })
    }

    fn is_needed(&self) -> bool {
        !self.was_there.load(Ordering::Relaxed)
    }
}

/// Readiness of the store: that it answers a small question.
pub struct StoreReady(pub Arc<dyn Cases>);

#[async_trait]
impl Readiness for StoreReady {
    fn name(&self) -> &'static str {
        "store"
    }

    async fn ready(&self) -> Result<(), String> {
        match self.0.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

pub(crate) async fn ready(
    State(site): State<Arc<Site>>,
    leaving: Option<Extension<Leaving>>,
) -> Response {
    if leaving.is_some() {
        let told = "told to stop: what comes still is answered, and others are to be asked\n";
        return (StatusCode::SERVICE_UNAVAILABLE, told).into_response();
    }
    let mut lines = String::new();
    let mut status = StatusCode::OK;
    for part in &site.parts.readiness {
        let asked = timeout(ASK, part.ready()).await;
        let asked = asked.unwrap_or_else(|_| Err(format!("no answer within {} s", ASK.as_secs())));
        let told = match asked {
            Ok(()) => "ready".to_owned(),
            Err(why) if part.is_needed() => {
                status = StatusCode::SERVICE_UNAVAILABLE;
                format!("not ready: {}", plain(&why, 200))
            }
            Err(why) => format!("away: {}", plain(&why, 200)),
        };
        lines.push_str(&format!("{}: {told}\n", plain(part.name(), 60)));
    }
    let late = |place| site.unopened.get().is_some_and(|shut| shut.has(place));
    for (place, name, is_needed) in [
        (Place::Pages, "listen", true),
        (Place::Intake, "intake_listen", true),
        // Whoever asks here needs nothing of it.
        (Place::Metrics, "metrics_listen", false),
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

pub(crate) async fn metrics(State(site): State<Arc<Site>>) -> Response {
    match (site.parts.metrics)() {
        Ok(text) => (
            [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
            text,
        )
            .into_response(),
        Err(why) => {
            tracing::error!(why, "the metrics cannot be told");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "the metrics cannot be told; the log says why\n",
            )
                .into_response()
        }
    }
}
