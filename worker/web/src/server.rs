//! Implements the server: its routes, their middleware, and its life cycle from bind to the last response.

mod connections;
mod listeners;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::{get, post};
use nightshift_pipeline::language::Language;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

pub use self::listeners::{BoundServer, Listeners};
pub(crate) use self::listeners::{DrainMarker, Listener, ListenerRole};
use crate::access::AccessPolicy;
use crate::app_state::{AppState, ServerParts};
use crate::config::WebError;
use crate::hosts::AllowedHosts;
use crate::intake::HttpIntake;
use crate::log_throttle::LogThrottle;
use crate::page::{STORE_TIMEOUT, Templates};
use crate::slack::{self, SlackIntegration, SlackInteractions};
use crate::{api, health, middleware, page};

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
const _: () = assert!(STORE_TIMEOUT.as_secs() < RESPONSE_TIMEOUT.as_secs());
/// Maximum size of a body, in bytes. Only posts of Slack and to the intake are read, and those have limits of their
/// own.
const MAX_BODY_BYTES: usize = 16 * 1024;

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
    /// The time for which requests are accepted after the stop signal.
    pub linger: Duration,
    /// The language of the pages.
    pub language: Language,
    pub(crate) access: AccessPolicy,
    pub(crate) hosts: AllowedHosts,
}

/// The server of pages, their JSON, health, readiness and metrics.
pub struct Server {
    options: ServerOptions,
    site: Arc<AppState>,
    slack: Option<Arc<SlackInteractions>>,
    intake: Option<Arc<HttpIntake>>,
}

impl Server {
    /// Creates a server that does not listen yet.
    ///
    /// # Errors
    ///
    /// Returns [`WebError::Template`], which a test of this crate rules out.
    pub fn new(options: ServerOptions, parts: ServerParts) -> Result<Self, WebError> {
        let templates = Templates::new(options.language).map_err(WebError::Template)?;
        let site = Arc::new(AppState {
            parts,
            templates,
            language: options.language,
            listeners: OnceLock::new(),
        });
        Ok(Self {
            options,
            site,
            slack: None,
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
    pub fn with_slack(mut self, slack: SlackIntegration) -> Self {
        self.slack = (!slack.workspaces.is_empty()).then(|| {
            let parts = &self.site.parts;
            let (cases, clock) = (Arc::clone(&parts.cases), Arc::clone(&parts.clock));
            Arc::new(SlackInteractions::new(slack, cases, clock))
        });
        self
    }

    /// Binds the addresses.
    ///
    /// # Errors
    ///
    /// Returns [`WebError::Bind`] when an address is in use or does not belong to this machine.
    pub async fn bind(self) -> Result<BoundServer, WebError> {
        self.bind_replacing(&Listeners::default()).await
    }

    /// Binds the addresses that differ from those of a running server. The other sockets are shared until that server
    /// has handed them over ([`Listeners::hand_over`]).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Server::bind`].
    pub async fn bind_replacing(self, before: &Listeners) -> Result<BoundServer, WebError> {
        let options = &self.options;
        let mut all = vec![(ListenerRole::Pages, options.listen, self.pages_router())];
        if let Some(address) = options.metrics_listen {
            all.push((ListenerRole::Metrics, address, self.metrics_router(address)));
        }
        if let Some(address) = options.intake_listen {
            all.push((ListenerRole::Intake, address, self.intake_router(address)));
        }
        let bound = BoundServer::bind(all, options.linger, before).await?;
        self.site.listeners.get_or_init(|| bound.listeners());
        Ok(bound)
    }

    /// Binds the addresses and serves until `stop` is cancelled.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Server::bind`].
    pub async fn serve(self, stop: CancellationToken) -> Result<(), WebError> {
        self.bind().await?.serve(stop).await;
        Ok(())
    }

    /// Returns the routes of `listen`.
    pub(crate) fn pages_router(&self) -> Router {
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
            .fallback(page::not_found)
            .layer(from_fn_with_state(access, middleware::check_access));
        let all = self
            .public_routes()
            .merge(guarded)
            .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES));
        let mut all = all.merge(self.slack_routes());
        if self.options.intake_listen.is_none() {
            all = all.merge(self.alert_routes());
        }
        self.with_layers(all, self.options.hosts.clone())
    }

    /// Returns the routes of `intake_listen`.
    fn intake_router(&self, address: SocketAddr) -> Router {
        let open = self
            .public_routes()
            .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES));
        let hosts = self.options.hosts.with_listen(address.ip());
        self.with_layers(open.merge(self.alert_routes()), hosts)
    }

    /// Returns the routes that alerts are posted to. They need no token of the pages, since sources have their own
    /// credentials.
    fn alert_routes(&self) -> Router<Arc<AppState>> {
        let Some(intake) = &self.intake else {
            return Router::new();
        };
        HttpIntake::routes(intake)
    }

    /// Returns the routes of `metrics_listen`.
    fn metrics_router(&self, address: SocketAddr) -> Router {
        let all = self.public_routes().route("/metrics", get(health::metrics));
        let all = all.layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES));
        self.with_layers(all, self.options.hosts.with_listen(address.ip()))
    }

    fn public_routes(&self) -> Router<Arc<AppState>> {
        Router::new()
            .route("/healthz", get(health::alive))
            .route("/readyz", get(health::ready))
    }

    /// Returns the routes that Slack posts to. They need no token, since Slack signs its requests.
    fn slack_routes(&self) -> Router<Arc<AppState>> {
        let Some(buttons) = &self.slack else {
            return Router::new();
        };
        Router::new()
            .route("/slack/interactions", post(slack::interactions))
            .with_state(Arc::clone(buttons))
    }

    /// Adds the middleware. The layer that is added last sees a request first.
    fn with_layers(&self, router: Router<Arc<AppState>>, hosts: AllowedHosts) -> Router {
        let tells = LogThrottle::default();
        let addressee = Arc::new(middleware::HostCheck {
            hosts,
            log_throttle: tells,
        });
        router
            .layer(from_fn_with_state(addressee, middleware::check_host))
            .layer(TimeoutLayer::with_status_code(
                StatusCode::SERVICE_UNAVAILABLE,
                RESPONSE_TIMEOUT,
            ))
            .layer(CatchPanicLayer::custom(middleware::panic_response))
            .layer(map_response(middleware::add_headers))
            .with_state(Arc::clone(&self.site))
    }
}

#[cfg(test)]
mod tests;
