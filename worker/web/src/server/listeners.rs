//! Hands bound sockets from one server to the next, so that a reload refuses no request.
//!
//! A server stops accepting, answers the connections that it has, and leaves its sockets open. Further connections wait
//! in the backlog until the next server accepts them. Sockets that the next server does not use are closed, and new ones
//! are bound. A stopping server may linger, since load balancers send requests until they notice.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse as _;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::ServiceExt as _;

use super::connections::{self, LimitedListener};
use crate::config::WebError;

/// The time that open requests have after the stop.
const GRACE: Duration = Duration::from_secs(5);
/// Pause between two attempts to bind an address in use.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerRole {
    Pages,
    Metrics,
    Intake,
}

/// Request extension of requests that arrive after the stop signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainMarker;

pub(crate) struct Listener {
    role: ListenerRole,
    /// The requested address, whose port may be 0.
    requested: SocketAddr,
    /// The bound socket, which is closed when nobody accepts from it. Unset while another process uses the address.
    socket: OnceLock<Weak<LimitedListener>>,
}

/// The listeners of a running server.
#[derive(Default)]
pub struct Listeners {
    all: Vec<Arc<Listener>>,
    /// Stops accepting connections.
    handover: CancellationToken,
    /// The listeners that accept connections.
    accepting: TaskTracker,
}

/// A server whose addresses are bound but which does not answer yet.
pub struct BoundServer {
    /// The listeners with their routes. Those without a socket collide with an address of the previous server, and are
    /// bound when that server has closed it.
    all: Vec<(Arc<Listener>, Router, Option<Arc<LimitedListener>>)>,
    linger: Duration,
}

impl Listener {
    fn new(role: ListenerRole, requested: SocketAddr) -> Self {
        Self {
            role,
            requested,
            socket: OnceLock::new(),
        }
    }

    /// Returns whether another process uses the address of this role.
    pub(crate) fn is_pending(&self, role: ListenerRole) -> bool {
        self.role == role && self.socket.get().is_none()
    }

    fn open_socket(&self) -> Option<Arc<LimitedListener>> {
        self.socket.get().and_then(Weak::upgrade)
    }

    fn hold(&self, socket: &Arc<LimitedListener>) {
        self.socket.get_or_init(|| Arc::downgrade(socket));
    }

    async fn bind(&self) -> std::io::Result<Arc<LimitedListener>> {
        let bound = TcpListener::bind(self.requested).await?;
        let socket = Arc::new(LimitedListener::from(bound));
        self.hold(&socket);
        Ok(socket)
    }

    /// Binds the address as soon as it is free. The previous server has closed its address and cannot return, because
    /// another process uses a part of it.
    async fn bind_when_free(&self) -> Arc<LimitedListener> {
        let mut told = String::new();
        loop {
            match self.bind().await {
                Ok(socket) => {
                    tracing::info!(address = %self.requested, "now listening on the address");
                    return socket;
                }
                Err(error) if error.to_string() != told => {
                    told = error.to_string();
                    tracing::error!(
                        address = %self.requested,
                        error = told,
                        "cannot bind the address; retrying until it is free"
                    );
                }
                Err(_) => {}
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Serves until the handover, or until the stop signal and the linger time. After the handover, open connections
    /// are answered as before. After the stop, open requests have five more seconds.
    async fn serve(
        self: Arc<Self>,
        router: Router,
        socket: Option<Arc<LimitedListener>>,
        linger: Duration,
        stop: CancellationToken,
        handover: CancellationToken,
        accepting: TaskTrackerToken,
    ) {
        let leaves = stop.clone();
        let answer = move |mut request: Request| {
            if leaves.is_cancelled() {
                request.extensions_mut().insert(DrainMarker);
            }
            let router = router.clone();
            async move {
                let Ok(response) = router.oneshot(request).await;
                response.into_response()
            }
        };
        let ends = CancellationToken::new();
        let serving = async {
            let socket = match socket {
                Some(socket) => socket,
                None => tokio::select! {
                    socket = self.bind_when_free() => socket,
                    () = handover.cancelled() => return,
                    () = ends.cancelled() => return,
                },
            };
            connections::serve(socket, accepting, answer, handover, ends.clone()).await;
        };
        let late = async {
            stop.cancelled().await;
            sleep(linger).await;
            ends.cancel();
            sleep(GRACE).await;
        };
        tokio::select! {
            () = serving => {}
            () = late => {}
        }
    }
}

/// Returns whether two addresses cannot be bound together: they are equal, or one is unspecified and the ports are
/// equal.
fn conflicts(one: SocketAddr, other: SocketAddr) -> bool {
    let is_all = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && (one.ip() == other.ip() || is_all)
}

impl BoundServer {
    /// Binds the addresses that are free. Those of the previous server are kept, or bound when that server has closed
    /// them.
    pub(super) async fn bind(
        wanted: Vec<(ListenerRole, SocketAddr, Router)>,
        linger: Duration,
        before: &Listeners,
    ) -> Result<Self, WebError> {
        let mut all = Vec::new();
        for (role, address, router) in wanted {
            let listener = Listener::new(role, address);
            let bad = |cause| WebError::Bind { address, cause };
            let same = |one: &&Arc<Listener>| (one.role, one.requested) == (role, address);
            let kept = before.all.iter().find(same);
            let mut asked = before.all.iter().map(|one| one.requested);
            let socket = if let Some(socket) = kept.and_then(|one| one.open_socket()) {
                listener.hold(&socket);
                Some(socket)
            } else if asked.any(|taken| conflicts(taken, address)) {
                // Whether the port is free is known only later. Another port shows that the address is of this machine.
                TcpListener::bind((address.ip(), 0)).await.map_err(bad)?;
                None
            } else {
                Some(listener.bind().await.map_err(bad)?)
            };
            all.push((Arc::new(listener), router, socket));
        }
        Ok(Self { all, linger })
    }

    pub(super) fn listeners(&self) -> Vec<Arc<Listener>> {
        self.all.iter().map(|(one, ..)| Arc::clone(one)).collect()
    }

    /// Binds the remaining addresses. Returns the listeners, and a future for each that must run until `stop`. An
    /// address that another process uses is bound when it is free; alerts are triaged meanwhile.
    pub async fn open(
        self,
        stop: &CancellationToken,
    ) -> (Listeners, Vec<impl Future<Output = ()> + Send + use<>>) {
        let mut listeners = Listeners::default();
        let mut serving = Vec::new();
        for (one, router, mut socket) in self.all {
            if socket.is_none() {
                socket = one.bind().await.ok();
            }
            listeners.all.push(Arc::clone(&one));
            serving.push(one.serve(
                router,
                socket,
                self.linger,
                stop.clone(),
                listeners.handover.clone(),
                listeners.accepting.token(),
            ));
        }
        (listeners, serving)
    }

    /// Serves until `stop` is cancelled and the linger time is over. Open requests then have five more seconds.
    pub async fn serve(self, stop: CancellationToken) {
        let (_listeners, serving) = self.open(&stop).await;
        futures_util::future::join_all(serving).await;
    }
}

impl Listeners {
    /// Stops accepting, and waits until the sockets are closed that the next server does not use. Connections that were
    /// accepted are still answered.
    pub async fn hand_over(&self) {
        self.handover.cancel();
        self.accepting.close();
        self.accepting.wait().await;
    }

    fn address_of(&self, role: ListenerRole) -> Option<SocketAddr> {
        let listener = self.all.iter().find(|one| one.role == role)?;
        listener.open_socket()?.address()
    }

    /// Returns the address of the pages, or `None` while the address is in use by another process.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address_of(ListenerRole::Pages)
    }

    /// Returns the address of the metrics, if separate from the pages.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.address_of(ListenerRole::Metrics)
    }

    /// Returns the address of the HTTP intake, which may be that of the pages.
    #[must_use]
    pub fn intake_address(&self) -> Option<SocketAddr> {
        let mut all = self.all.iter();
        let is_apart = all.any(|one| one.role == ListenerRole::Intake);
        self.address_of(if is_apart {
            ListenerRole::Intake
        } else {
            ListenerRole::Pages
        })
    }
}
