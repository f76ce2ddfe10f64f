//! Listeners that stay bound while their services change, so that a reload refuses no request.
//!
//! A request is answered by the service that was active when it arrived. Addresses that the next server does not use
//! are closed, and new ones are bound. A stopping server may linger, since load balancers send requests until they
//! notice.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::ServiceExt as _;

use super::connections;
use crate::config::WebError;

/// How long open requests have after the stop.
const GRACE: Duration = Duration::from_secs(5);
/// Pause between two attempts to bind an address in use.
const AGAIN: Duration = Duration::from_secs(5);

/// The role of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Pages,
    Metrics,
    Intake,
}

/// A listener that a server needs, and its service.
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) address: SocketAddr,
    pub(super) behind: Behind,
}

/// The service of a listener, and how long it answers after the stop signal.
#[derive(Clone)]
pub(super) struct Behind {
    pub(super) router: Router,
    pub(super) linger: Duration,
}

/// Request extension of requests that arrive after the stop signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving;

/// A listener.
struct Door {
    place: Place,
    /// The requested address, whose port may be 0.
    asked: SocketAddr,
    address: SocketAddr,
    behind: RwLock<Shift>,
    shut: CancellationToken,
    serving: TaskTracker,
}

/// The active service, until another one replaces it.
struct Shift {
    behind: Behind,
    /// The requests without a response.
    open: TaskTracker,
}

/// The listeners of a running server.
#[derive(Default)]
pub struct Doors {
    all: Vec<Arc<Door>>,
    unopened: Unopened,
}

/// The roles of listeners that are not bound yet, shared by all servers that replace each other.
#[derive(Clone, Default)]
pub(crate) struct Unopened(Arc<Mutex<Vec<Place>>>);

/// Marks one listener as pending until dropped.
struct Shut(Unopened, Place);

impl Unopened {
    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has(&self, place: Place) -> bool {
        self.places().contains(&place)
    }

    fn add(&self, place: Place) -> Shut {
        self.places().push(place);
        Shut(self.clone(), place)
    }
}

impl Drop for Shut {
    fn drop(&mut self) {
        let mut places = self.0.places();
        if let Some(at) = places.iter().position(|one| *one == self.1) {
            places.swap_remove(at);
        }
    }
}

/// The initial state of a listener.
enum Start {
    Listening(TcpListener),
    /// The address is in use, and binding is retried.
    Late(Shut),
}

/// A server whose addresses are bound but which does not answer yet.
pub struct Bound {
    fresh: Vec<(Arc<Door>, Start)>,
    /// Listeners that stay from the previous server.
    kept: Vec<(Arc<Door>, Behind)>,
    /// Addresses that collide with those of the previous server, until that server has closed them.
    waiting: Vec<Wanted>,
    unopened: Unopened,
}

/// A server that another one has replaced.
pub struct Relieved {
    open: Vec<TaskTracker>,
    closing: Vec<TaskTracker>,
}

impl Shift {
    fn new(behind: Behind) -> Self {
        let open = TaskTracker::new();
        Self { behind, open }
    }
}

impl Door {
    async fn open(wanted: Wanted) -> Result<(Arc<Self>, TcpListener), WebError> {
        let asked = wanted.address;
        let bad = |cause| WebError::Bind {
            address: asked,
            cause,
        };
        let listener = TcpListener::bind(asked).await.map_err(bad)?;
        let address = listener.local_addr().map_err(bad)?;
        Ok((Arc::new(Self::new(wanted, address)), listener))
    }

    fn new(wanted: Wanted, address: SocketAddr) -> Self {
        Self {
            place: wanted.place,
            asked: wanted.address,
            address,
            behind: RwLock::new(Shift::new(wanted.behind)),
            shut: CancellationToken::new(),
            serving: TaskTracker::new(),
        }
    }

    /// Binds the address as soon as it is free. The previous server has closed its address and cannot return, because
    /// another process uses a part of it.
    async fn opened(&self) -> TcpListener {
        let mut told = String::new();
        loop {
            match TcpListener::bind(self.asked).await {
                Ok(listener) => {
                    tracing::info!(address = %self.asked, "this address is answered at now");
                    return listener;
                }
                Err(error) if error.to_string() != told => {
                    told = error.to_string();
                    tracing::error!(
                        address = %self.asked,
                        error = told,
                        "nobody can listen at this address: nothing answers there until it is free"
                    );
                }
                Err(_) => {}
            }
            sleep(AGAIN).await;
        }
    }

    async fn answer(self: Arc<Self>, request: Request) -> Response {
        let (router, _open) = {
            let shift = self.behind.read().unwrap_or_else(PoisonError::into_inner);
            // The token is taken under the lock, so that a replaced service also waits for this request.
            (shift.behind.router.clone(), shift.open.token())
        };
        let Ok(response) = router.oneshot(request).await;
        response.into_response()
    }

    /// Replaces the service. Returns the tracker of requests to the previous one.
    fn relieve(&self, behind: Behind) -> TaskTracker {
        let mut shift = self.behind.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *shift, Shift::new(behind));
        before.open
    }

    fn linger(&self) -> Duration {
        let shift = self.behind.read().unwrap_or_else(PoisonError::into_inner);
        shift.behind.linger
    }

    fn open_requests(&self) -> TaskTracker {
        let behind = self.behind.read().unwrap_or_else(PoisonError::into_inner);
        behind.open.clone()
    }

    /// Serves until the listener is closed, or until the stop signal and the linger time. Open requests then have
    /// five more seconds.
    async fn serve(
        self: Arc<Self>,
        start: Start,
        stop: CancellationToken,
        _serving: TaskTrackerToken,
    ) {
        let (door, leaves) = (Arc::clone(&self), stop.clone());
        let answer = move |mut request: Request| {
            if leaves.is_cancelled() {
                request.extensions_mut().insert(Leaving);
            }
            Arc::clone(&door).answer(request)
        };
        let ends = CancellationToken::new();
        let serving = async {
            let listener = match start {
                Start::Listening(listener) => listener,
                Start::Late(_shut) => tokio::select! {
                    listener = self.opened() => listener,
                    () = ends.cancelled() => return,
                },
            };
            connections::serve(listener, answer, ends.clone()).await;
        };
        let late = async {
            tokio::select! {
                () = self.shut.cancelled() => {}
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

impl Doors {
    fn find(&self, wanted: &Wanted) -> Option<&Arc<Door>> {
        let same = |door: &&Arc<Door>| (door.place, door.asked) == (wanted.place, wanted.address);
        self.all.iter().find(same)
    }
}

/// Returns whether two addresses cannot be bound together: they are equal, or one is unspecified and the ports are
/// equal.
fn share(one: SocketAddr, other: SocketAddr) -> bool {
    let is_all = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && (one.ip() == other.ip() || is_all)
}

/// Checks that the IP address belongs to this machine by binding another port. Whether the wanted port is free is
/// known only after the previous server has closed it.
async fn is_of_this_machine(address: SocketAddr) -> Result<(), WebError> {
    let tried = TcpListener::bind((address.ip(), 0)).await;
    tried
        .map(drop)
        .map_err(|cause| WebError::Bind { address, cause })
}

impl Bound {
    /// Binds the addresses that are free. Those of the previous server are kept, or bound when that server has closed
    /// them.
    pub(super) async fn of(wanted: Vec<Wanted>, before: &Doors) -> Result<Self, WebError> {
        let mut bound = Self {
            fresh: Vec::new(),
            kept: Vec::new(),
            waiting: Vec::new(),
            unopened: before.unopened.clone(),
        };
        for one in wanted {
            let mut asked = before.all.iter().map(|door| door.asked);
            let is_used = asked.any(|taken| share(taken, one.address));
            match before.find(&one) {
                Some(door) => bound.kept.push((Arc::clone(door), one.behind)),
                None if is_used => {
                    is_of_this_machine(one.address).await?;
                    bound.waiting.push(one);
                }
                None => {
                    let (door, listener) = Door::open(one).await?;
                    bound.fresh.push((door, Start::Listening(listener)));
                }
            }
        }
        Ok(bound)
    }

    /// Puts the new services behind the listeners that stay, and closes the others.
    pub fn take_over(&mut self, before: &Doors) -> Relieved {
        let mut relieved = Relieved {
            open: Vec::new(),
            closing: Vec::new(),
        };
        for door in &before.all {
            let kept = self.kept.iter().find(|(kept, _)| Arc::ptr_eq(kept, door));
            if let Some((_, behind)) = kept {
                relieved.open.push(door.relieve(behind.clone()));
            } else {
                door.shut.cancel();
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
    ) -> (Doors, Vec<impl Future<Output = ()> + Send + use<>>) {
        for wanted in self.waiting {
            let address = wanted.address;
            let start = match TcpListener::bind(address).await {
                Ok(listener) => Start::Listening(listener),
                Err(_) => Start::Late(self.unopened.add(wanted.place)),
            };
            let door = Arc::new(Door::new(wanted, address));
            self.fresh.push((door, start));
        }
        let mut doors: Vec<Arc<Door>> = self.kept.into_iter().map(|(door, _)| door).collect();
        let mut serving = Vec::new();
        for (door, start) in self.fresh {
            doors.push(Arc::clone(&door));
            let token = door.serving.token();
            serving.push(door.serve(start, stop.clone(), token));
        }
        let doors = Doors {
            all: doors,
            unopened: self.unopened,
        };
        (doors, serving)
    }

    /// Serves until `stop` is cancelled and the linger time is over. Open requests then have five more seconds.
    pub async fn serve(self, stop: CancellationToken) {
        let (_doors, serving) = self.open(&stop).await;
        futures_util::future::join_all(serving).await;
    }
}

impl Doors {
    fn at(&self, place: Place) -> Option<SocketAddr> {
        let mut all = self.all.iter().filter(|_| !self.unopened.has(place));
        let door = all.find(|door| door.place == place);
        door.map(|door| door.address)
    }

    /// Returns the roles whose listeners are not bound yet.
    pub(super) fn unopened(&self) -> Unopened {
        self.unopened.clone()
    }

    /// Returns the address of the pages, or `None` while the address is in use by another process.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.at(Place::Pages)
    }

    /// Returns the address of the metrics, if separate from the pages.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.at(Place::Metrics)
    }

    /// Waits until all listeners are closed and their requests answered.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let all: Vec<TaskTracker> = self.all.iter().map(|door| door.serving.clone()).collect();
        async move { wait(&all).await }
    }

    /// Returns the address of the HTTP intake, which may be that of the pages.
    #[must_use]
    pub fn intake_address(&self) -> Option<SocketAddr> {
        let is_apart = self.all.iter().any(|door| door.place == Place::Intake);
        self.at(if is_apart {
            Place::Intake
        } else {
            Place::Pages
        })
    }
}

impl Relieved {
    /// Waits until all earlier requests are answered.
    pub async fn answered(&self) {
        wait(&self.open).await;
    }

    /// Waits until the closed addresses are free.
    pub async fn closed(&self) {
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
