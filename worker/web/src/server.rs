//! The server: its routes, their middleware, and its life cycle from bind to the last response.

mod connections;
mod doors;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use self::doors::{Behind, Wanted};
pub use self::doors::{Bound, Doors, Relieved};
pub(crate) use self::doors::{Leaving, Place, Unopened};
use crate::access::Access;
use crate::config::WebError;
use crate::hosts::Hosts;
use crate::intake::HttpIntake;
use crate::page::Templates;
use crate::site::{Parts, Site};
use crate::slack::{self, Buttons, Slack};
use crate::told::NowAndThen;
use crate::{api, guard, health, page};

/// Timeout of a response.
const ANSWER: Duration = Duration::from_secs(10);
/// Largest body, in bytes. Only posts of Slack and to the intake are read, and those have limits of their own.
const BODY_BYTES: usize = 16 * 1024;

/// The options of a server. [`WebConfig::options`](crate::WebConfig::options) creates them from a checked
/// configuration.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address of the pages.
    pub listen: SocketAddr,
    /// Address of the metrics, if separate from the pages.
    pub metrics_listen: Option<SocketAddr>,
    /// Address of the HTTP intake, if separate from the pages.
    pub intake_listen: Option<SocketAddr>,
    /// How long requests are accepted after the stop signal.
    pub linger: Duration,
    pub(crate) access: Access,
    pub(crate) hosts: Hosts,
}

/// The server of pages, their JSON, health, readiness and metrics.
pub struct Server {
    options: ServerOptions,
    site: Arc<Site>,
    buttons: Option<Arc<Buttons>>,
    intake: Option<Arc<HttpIntake>>,
}

impl Server {
    /// Creates a server that does not listen yet.
    ///
    /// # Errors
    ///
    /// Returns [`WebError::Template`], which a test of this crate rules out.
    pub fn new(options: ServerOptions, parts: Parts) -> Result<Self, WebError> {
        let templates = Templates::new().map_err(WebError::Template)?;
        let site = Arc::new(Site {
            parts,
            templates,
            unopened: OnceLock::new(),
        });
        Ok(Self {
            options,
            site,
            buttons: None,
            intake: None,
        })
    }

    /// Adds the HTTP intake.
    #[must_use]
    pub fn with_intake(mut self, intake: HttpIntake) -> Self {
        self.intake = Some(Arc::new(intake));
        self
    }

    /// Adds Slack interactions, if a destination has buttons.
    #[must_use]
    pub fn with_slack(mut self, slack: Slack) -> Self {
        self.buttons = (!slack.desks.is_empty()).then(|| {
            let parts = &self.site.parts;
            let (cases, clock) = (Arc::clone(&parts.cases), Arc::clone(&parts.clock));
            Arc::new(Buttons::new(slack, cases, clock))
        });
        self
    }

    /// Binds the addresses.
    ///
    /// # Errors
    ///
    /// Returns [`WebError::Bind`] when an address is in use or does not belong to this machine.
    pub async fn bind(self) -> Result<Bound, WebError> {
        self.bind_after(&Doors::default()).await
    }

    /// Binds the addresses that differ from those of a running server. [`Bound::take_over`] then replaces that
    /// server.
    ///
    /// # Errors
    ///
    /// Same as [`Server::bind`].
    pub async fn bind_after(self, before: &Doors) -> Result<Bound, WebError> {
        self.site.unopened.get_or_init(|| before.unopened());
        let wanted = |place, address, router| Wanted {
            place,
            address,
            behind: Behind {
                router,
                linger: self.options.linger,
            },
        };
        let mut all = vec![wanted(Place::Pages, self.options.listen, self.pages())];
        if let Some(address) = self.options.metrics_listen {
            all.push(wanted(Place::Metrics, address, self.figures(address)));
        }
        if let Some(address) = self.options.intake_listen {
            all.push(wanted(Place::Intake, address, self.posts(address)));
        }
        Bound::of(all, before).await
    }

    /// Binds the addresses and serves until `stop` is cancelled.
    ///
    /// # Errors
    ///
    /// Same as [`Server::bind`].
    pub async fn serve(self, stop: CancellationToken) -> Result<(), WebError> {
        self.bind().await?.serve(stop).await;
        Ok(())
    }

    /// Returns the routes of `listen`.
    pub(crate) fn pages(&self) -> Router {
        let mut guarded = Router::new()
            .route("/", get(page::list))
            .route("/cases/{id}", get(page::case))
            .route("/style.css", get(page::style))
            .route("/api/v1/cases", get(api::list))
            .route("/api/v1/cases/{id}", get(api::case));
        if self.options.metrics_listen.is_none() {
            guarded = guarded.route("/metrics", get(health::metrics));
        }
        let access = Arc::new(self.options.access.clone());
        let guarded = guarded
            .fallback(page::nowhere)
            .layer(from_fn_with_state(access, guard::access));
        let all = self
            .open()
            .merge(guarded)
            .layer(RequestBodyLimitLayer::new(BODY_BYTES));
        let mut all = all.merge(self.clicks());
        if self.options.intake_listen.is_none() {
            all = all.merge(self.alerts());
        }
        self.layered(all, self.options.hosts.clone())
    }

    /// Returns the routes of `intake_listen`.
    fn posts(&self, address: SocketAddr) -> Router {
        let open = self.open().layer(RequestBodyLimitLayer::new(BODY_BYTES));
        let hosts = self.options.hosts.at(address.ip());
        self.layered(open.merge(self.alerts()), hosts)
    }

    /// Returns the routes that alerts are posted to. They need no token of the pages, since sources have their own
    /// credentials.
    fn alerts(&self) -> Router<Arc<Site>> {
        let Some(intake) = &self.intake else {
            return Router::new();
        };
        HttpIntake::routes(intake)
    }

    /// Returns the routes of `metrics_listen`.
    fn figures(&self, address: SocketAddr) -> Router {
        let all = self.open().route("/metrics", get(health::metrics));
        let all = all.layer(RequestBodyLimitLayer::new(BODY_BYTES));
        self.layered(all, self.options.hosts.at(address.ip()))
    }

    fn open(&self) -> Router<Arc<Site>> {
        Router::new()
            .route("/healthz", get(health::alive))
            .route("/readyz", get(health::ready))
    }

    /// Returns the routes that Slack posts to. They need no token, since Slack signs its requests.
    fn clicks(&self) -> Router<Arc<Site>> {
        let Some(buttons) = &self.buttons else {
            return Router::new();
        };
        Router::new()
            .route("/slack/interactions", post(slack::interactions))
            .with_state(Arc::clone(buttons))
    }

    /// Adds the middleware. The layer that is added last sees a request first.
    fn layered(&self, router: Router<Arc<Site>>, hosts: Hosts) -> Router {
        let tells = NowAndThen::default();
        let addressee = Arc::new(guard::Addressee { hosts, tells });
        router
            .layer(from_fn_with_state(addressee, guard::hosts))
            .layer(TimeoutLayer::with_status_code(
                StatusCode::SERVICE_UNAVAILABLE,
                ANSWER,
            ))
            .layer(CatchPanicLayer::custom(guard::panicked))
            .layer(map_response(guard::headers))
            .with_state(Arc::clone(&self.site))
    }
}

#[cfg(test)]
mod tests;
