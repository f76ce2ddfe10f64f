//! Keeps listeners bound while their services change, so that a reload refuses no request.
//!
//! A request is answered by the service that was active when it arrived. Addresses that the next server does not use
//! are closed, and new ones are bound. A stopping server may linger, since load balancers send requests until they
//! notice.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::ServiceExt as _;

use super::connections;
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

/// A listener that a server needs, and its service.
pub(super) struct ListenerSpec {
    pub(super) role: ListenerRole,
    pub(super) address: SocketAddr,
    pub(super) service: ListenerService,
}

/// The service of a listener, and how long it answers after the stop signal.
#[derive(Clone)]
pub(super) struct ListenerService {
    pub(super) router: Router,
    pub(super) linger: Duration,
}

/// Request extension of requests that arrive after the stop signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainMarker;

struct Listener {
    role: ListenerRole,
    /// The requested address, whose port may be 0.
    requested: SocketAddr,
    address: SocketAddr,
    active: RwLock<ActiveService>,
    close: CancellationToken,
    serving: TaskTracker,
}

/// The active service, until another one replaces it.
struct ActiveService {
    service: ListenerService,
    /// The requests without a response.
    open_requests: TaskTracker,
}

/// The listeners of a running server.
#[derive(Default)]
pub struct Listeners {
    all: Vec<Arc<Listener>>,
    pending: PendingListeners,
}

/// The roles of listeners that are not bound yet, shared by all servers that replace each other.
#[derive(Clone, Default)]
pub(crate) struct PendingListeners(Arc<Mutex<Vec<ListenerRole>>>);

/// Marks one listener as pending until dropped.
struct PendingGuard(PendingListeners, ListenerRole);

impl PendingListeners {
    fn lock_roles(&self) -> MutexGuard<'_, Vec<ListenerRole>> {
        self.0.lock()
    }

    pub(crate) fn has(&self, place: ListenerRole) -> bool {
        self.lock_roles().contains(&place)
    }

    fn add(&self, place: ListenerRole) -> PendingGuard {
        self.lock_roles().push(place);
        PendingGuard(self.clone(), place)
    }
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        let mut places = self.0.lock_roles();
        if let Some(at) = places.iter().position(|one| *one == self.1) {
            places.swap_remove(at);
        }
    }
}

/// The initial state of a listener.
enum ListenerStart {
    Listening(TcpListener),
    /// The address is in use, and binding is retried.
    Pending(PendingGuard),
}

/// A server whose addresses are bound but which does not answer yet.
pub struct BoundServer {
    opened: Vec<(Arc<Listener>, ListenerStart)>,
    /// Listeners that stay from the previous server.
    kept: Vec<(Arc<Listener>, ListenerService)>,
    /// Addresses that collide with those of the previous server, until that server has closed them.
    pending: Vec<ListenerSpec>,
    pending_listeners: PendingListeners,
}

/// A server that another one has replaced.
pub struct DrainingServer {
    open: Vec<TaskTracker>,
    closing: Vec<TaskTracker>,
}

impl ActiveService {
    fn new(behind: ListenerService) -> Self {
        let open = TaskTracker::new();
        Self {
            service: behind,
            open_requests: open,
        }
    }
}

impl Listener {
    async fn bind(wanted: ListenerSpec) -> Result<(Arc<Self>, TcpListener), WebError> {
        let asked = wanted.address;
        let bad = |cause| WebError::Bind {
            address: asked,
            cause,
        };
        let listener = TcpListener::bind(asked).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?;
        Ok((Arc::new(Self::new(wanted, address)), listener))
    }

    fn new(wanted: ListenerSpec, address: SocketAddr) -> Self {
        Self {
            role: wanted.role,
            requested: wanted.address,
            address,
            active: RwLock::new(ActiveService::new(wanted.service)),
            close: CancellationToken::new(),
            serving: TaskTracker::new(),
        }
    }

    /// Binds the address as soon as it is free. The previous server has closed its address and cannot return, because
    /// another process uses a part of it.
    async fn bind_when_free(&self) -> TcpListener {
        let mut told = String::new();
        loop {
            match TcpListener::bind(self.requested).await {
                Ok(listener) => {
                    tracing::info!(address = %self.requested, "now listening on the address");
                    return listener;
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

    async fn answer(self: Arc<Self>, request: Request) -> Response {
        let (router, _open) = {
            let shift = self.active.read();
            // The token is taken under the lock, so that a replaced service also waits for this request.
            (shift.service.router.clone(), shift.open_requests.token())
        };
        let Ok(response) = router.oneshot(request).await;
        response.into_response()
    }

    /// Replaces the service. Returns the tracker of requests to the previous one.
    fn replace_service(&self, behind: ListenerService) -> TaskTracker {
        let mut shift = self.active.write();
        let before = std::mem::replace(&mut *shift, ActiveService::new(behind));
        before.open_requests
    }

    fn linger(&self) -> Duration {
        let shift = self.active.read();
        shift.service.linger
    }

    fn open_requests(&self) -> TaskTracker {
        let behind = self.active.read();
        behind.open_requests.clone()
    }

    /// Serves until the listener is closed, or until the stop signal and the linger time. Open requests then have
    /// five more seconds.
    async fn serve(
        self: Arc<Self>,
        start: ListenerStart,
        stop: CancellationToken,
        _serving: TaskTrackerToken,
    ) {
        let (door, leaves) = (Arc::clone(&self), stop.clone());
        let answer = move |mut request: Request| {
            if leaves.is_cancelled() {
                request.extensions_mut().insert(DrainMarker);
            }
            Arc::clone(&door).answer(request)
        };
        let ends = CancellationToken::new();
        let serving = async {
            let listener = match start {
                ListenerStart::Listening(listener) => listener,
                ListenerStart::Pending(_shut) => tokio::select! {
                    listener = self.bind_when_free() => listener,
                    () = ends.cancelled() => return,
                },
            };
            connections::serve(listener, answer, ends.clone()).await;
        };
        let late = async {
            tokio::select! {
                () = self.close.cancelled() => {}
                () = stop.cancelled() => sleep(self.linger()).await,
            }
            ends.cancel();
            sleep(GRACE).await;
        };
        tokio::select! {
            () = serving => {}
            () = late => {}
        }
    }
}

impl Listeners {
    fn find(&self, wanted: &ListenerSpec) -> Option<&Arc<Listener>> {
        let same =
            |door: &&Arc<Listener>| (door.role, door.requested) == (wanted.role, wanted.address);
        self.all.iter().find(same)
    }
}

/// Returns whether two addresses cannot be bound together: they are equal, or one is unspecified and the ports are
/// equal.
fn conflicts(one: SocketAddr, other: SocketAddr) -> bool {
    let is_all = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && (one.ip() == other.ip() || is_all)
}

/// Checks that the IP address belongs to this machine by binding another port. Whether the wanted port is free is
/// known only after the previous server has closed it.
async fn check_local(address: SocketAddr) -> Result<(), WebError> {
    let tried = TcpListener::bind((address.ip(), 0)).await;
    tried
        .map(drop)
        .map_err(|cause| WebError::Bind { address, cause })
}

impl BoundServer {
    /// Binds the addresses that are free. Those of the previous server are kept, or bound when that server has closed
    /// them.
    pub(super) async fn bind(
        wanted: Vec<ListenerSpec>,
        before: &Listeners,
    ) -> Result<Self, WebError> {
        let mut bound = Self {
            opened: Vec::new(),
            kept: Vec::new(),
            pending: Vec::new(),
            pending_listeners: before.pending.clone(),
        };
        for one in wanted {
            let mut asked = before.all.iter().map(|door| door.requested);
            let is_used = asked.any(|taken| conflicts(taken, one.address));
            match before.find(&one) {
                Some(door) => bound.kept.push((Arc::clone(door), one.service)),
                None if is_used => {
                    check_local(one.address).await?;
                    bound.pending.push(one);
                }
                None => {
                    let (door, listener) = Listener::bind(one).await?;
                    bound
                        .opened
                        .push((door, ListenerStart::Listening(listener)));
                }
            }
        }
        Ok(bound)
    }

    /// Puts the new services behind the listeners that stay, and closes the others.
    pub fn take_over(&mut self, before: &Listeners) -> DrainingServer {
        let mut relieved = DrainingServer {
            open: Vec::new(),
            closing: Vec::new(),
        };
        for door in &before.all {
            let kept = self.kept.iter().find(|(kept, _)| Arc::ptr_eq(kept, door));
            if let Some((_, behind)) = kept {
                relieved.open.push(door.replace_service(behind.clone()));
            } else {
                door.close.cancel();
                relieved.open.push(door.open_requests());
                relieved.closing.push(door.serving.clone());
            }
        }
        relieved
    }

    /// Binds the remaining addresses. Returns the listeners, and a future for each new one that must run until
    /// `stop`. An address that another process uses is bound when it is free; alerts are triaged meanwhile.
    pub async fn open(
        mut self,
        stop: &CancellationToken,
    ) -> (Listeners, Vec<impl Future<Output = ()> + Send + use<>>) {
        for wanted in self.pending {
            let address = wanted.address;
            let start = match TcpListener::bind(address).await {
                Ok(listener) => ListenerStart::Listening(listener),
                Err(_) => ListenerStart::Pending(self.pending_listeners.add(wanted.role)),
            };
            let door = Arc::new(Listener::new(wanted, address));
            self.opened.push((door, start));
        }
        let mut doors: Vec<Arc<Listener>> = self.kept.into_iter().map(|(door, _)| door).collect();
        let mut serving = Vec::new();
        for (door, start) in self.opened {
            doors.push(Arc::clone(&door));
            let token = door.serving.token();
            serving.push(door.serve(start, stop.clone(), token));
        }
        let doors = Listeners {
            all: doors,
            pending: self.pending_listeners,
        };
        (doors, serving)
    }

    /// Serves until `stop` is cancelled and the linger time is over. Open requests then have five more seconds.
    pub async fn serve(self, stop: CancellationToken) {
        let (_doors, serving) = self.open(&stop).await;
        futures_util::future::join_all(serving).await;
    }
}

impl Listeners {
    fn address_of(&self, place: ListenerRole) -> Option<SocketAddr> {
        let mut all = self.all.iter().filter(|_| !self.pending.has(place));
        let door = all.find(|door| door.role == place);
        door.map(|door| door.address)
    }

    /// Returns the roles whose listeners are not bound yet.
    pub(super) fn pending(&self) -> PendingListeners {
        self.pending.clone()
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

    /// Waits until all listeners are closed and their requests answered.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let all: Vec<TaskTracker> = self.all.iter().map(|door| door.serving.clone()).collect();
        async move { wait(&all).await }
    }

    /// Returns the address of the HTTP intake, which may be that of the pages.
    #[must_use]
    pub fn intake_address(&self) -> Option<SocketAddr> {
        let is_apart = self
            .all
            .iter()
            .any(|door| door.role == ListenerRole::Intake);
        self.address_of(if is_apart {
            ListenerRole::Intake
        } else {
            ListenerRole::Pages
        })
    }
}

impl DrainingServer {
    /// Waits until all earlier requests are answered.
    pub async fn wait_answered(&self) {
        wait(&self.open).await;
    }

    /// Waits until the closed addresses are free.
    pub async fn wait_closed(&self) {
        wait(&self.closing).await;
    }
}

/// Waits until no tracker has a running task.
async fn wait(all: &[TaskTracker]) {
    for one in all {
        one.close();
        one.wait().await;
    }
}
