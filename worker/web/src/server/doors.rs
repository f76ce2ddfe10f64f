//! Addresses that stay while what answers behind them changes: a configuration that is taken up refuses no request.
//!
//! A request is answered by whoever stood behind the door when it came. Addresses that the next server does not have are
//! closed, and new ones opened. Told to stop, a server may linger: load balancers send requests on until they have heard.

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

/// How long open requests have when the server is told to stop.
const GRACE: Duration = Duration::from_secs(5);
/// Between two tries of an address that somebody else has.
const AGAIN: Duration = Duration::from_secs(5);

/// What an address is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Pages,
    Metrics,
    Intake,
}

/// One of the addresses that a server wants, and what it answers there.
pub(super) struct Wanted {
    pub(super) place: Place,
    pub(super) address: SocketAddr,
    pub(super) behind: Behind,
}

/// What answers at an address, and how long it does after it is told to stop.
#[derive(Clone)]
pub(super) struct Behind {
    pub(super) router: Router,
    pub(super) linger: Duration,
}

/// Stands in requests that come after the process was told to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving;

/// An address that is listened at.
struct Door {
    place: Place,
    /// As it was asked for: the port may be left to the system.
    asked: SocketAddr,
    address: SocketAddr,
    behind: RwLock<Shift>,
    shut: CancellationToken,
    serving: TaskTracker,
}

/// Who answers, until others take over.
struct Shift {
    behind: Behind,
    /// The requests that are not answered yet.
    open: TaskTracker,
}

/// The addresses of a server that runs.
#[derive(Default)]
pub struct Doors {
    all: Vec<Arc<Door>>,
    unopened: Unopened,
}

/// Where nobody listens yet, of all servers that took over from one another.
#[derive(Clone, Default)]
pub(crate) struct Unopened(Arc<Mutex<Vec<Place>>>);

/// Stands for one of them.
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

/// What a door begins with.
enum Start {
    Listening(TcpListener),
    /// Somebody else keeps its address from it.
    Late(Shut),
}

/// A server whose addresses are taken, so that they can be told.
pub struct Bound {
    fresh: Vec<(Arc<Door>, Start)>,
    /// Doors of the server before.
    kept: Vec<(Arc<Door>, Behind)>,
    /// Addresses that the server before uses for something else: they are free when that has ended.
    waiting: Vec<Wanted>,
    unopened: Unopened,
}

/// A server that others have taken over from.
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

    /// Opens it as soon as its address is free: the server before has closed, and cannot be asked back because somebody else
    /// has a part of it.
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
            // Before the lock is let go: who is relieved then waits for this request, too.
            (shift.behind.router.clone(), shift.open.token())
        };
        let Ok(response) = router.oneshot(request).await;
        response.into_response()
    }

    /// Puts others behind the door. What tells when those before have answered all that came to them.
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

    /// Answers until it is shut, or all have been told to stop for as long as it lingers; requests that are open then have
    /// five seconds more.
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

/// Whether no two can listen at these: they are one, or one is all of this machine's.
fn share(one: SocketAddr, other: SocketAddr) -> bool {
    let is_all = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && (one.ip() == other.ip() || is_all)
}

/// Whether anything can listen at this address, at some port: of one whose own port is not free yet, nothing else can be
/// known before the server that has it gives way.
async fn is_of_this_machine(address: SocketAddr) -> Result<(), WebError> {
    let tried = TcpListener::bind((address.ip(), 0)).await;
    tried
        .map(drop)
        .map_err(|cause| WebError::Bind { address, cause })
}

impl Bound {
    /// Takes the addresses that nobody has; those of the server before stay, or are free when it has ended.
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

    /// Answers behind the doors that stay, from now on, and closes the others.
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

    /// Opens what is not open yet. The addresses, and what answers at those that are new, each to be run until `stop`.
    /// One of the server before that somebody else has a part of is opened when it is free: alerts are triaged meanwhile.
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

    /// Answers until it is told to stop and has lingered; requests that are open then have five seconds more.
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

    /// At which of them nobody listens yet.
    pub(super) fn unopened(&self) -> Unopened {
        self.unopened.clone()
    }

    /// Where the pages are; nowhere, while somebody else keeps their address from us.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.at(Place::Pages)
    }

    /// Where the metrics are, if not beside the pages.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.at(Place::Metrics)
    }

    /// Waits until none of them is listened at any more, and what came is answered.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let all: Vec<TaskTracker> = self.all.iter().map(|door| door.serving.clone()).collect();
        async move { wait(&all).await }
    }

    /// Where alerts are handed in: beside the pages, if they have no address of their own.
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
    /// Waits until all that came before is answered.
    pub async fn answered(&self) {
        wait(&self.open).await;
    }

    /// Waits until the addresses that are closed are free.
    pub async fn closed(&self) {
        wait(&self.closing).await;
    }
}

/// Waits until nothing is under way in any of them.
async fn wait(all: &[TaskTracker]) {
    for one in all {
        one.close();
        one.wait().await;
    }
}
