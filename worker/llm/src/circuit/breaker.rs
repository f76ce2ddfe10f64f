//! When a circuit opens and closes.
//!
//! | what came of a request | it says |
//! |---|---|
//! | an answer, or a failure that is about the length or the content | the model is up: the circuit closes |
//! | a failure that is about the key, the money or the request's form | it is up, and refuses: waiting helps only where another one is down |
//! | overloaded, not reachable | it is down: so many in a row open the circuit |
//! | rate limited; no answer in a long time; not readable | perhaps: the circuit opens when nearly all of the last requests end so |
//! | no answer in a short time | nothing: the question had no time left |
//! | whatever tells to leave it alone for longer than anybody stands in line | the circuit is open until then |

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::chat::Failure;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// What the provider told to one request is waited for by all others in line, where it is not longer than this. A longer
/// wait is an outage.
pub(crate) const IN_LINE: Duration = Duration::from_secs(60);
/// No model is left alone for longer, whatever its provider told.
const LEFT_ALONE: Duration = Duration::from_secs(3_600);

/// When a circuit opens, and how often a model that is down is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Outages in a row that open the circuit.
    pub(crate) outages: u32,
    /// Requests that are looked back at; at most 64.
    pub(crate) last: u32,
    /// So many of them without an answer open the circuit, too.
    pub(crate) unanswered: u32,
    /// Time between two probes.
    pub(crate) probe: Duration,
    /// From here on a time without an answer is long.
    pub(crate) long: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            outages: 5,
            last: 20,
            unanswered: 16,
            probe: Duration::from_secs(10),
            long: Duration::from_secs(10),
        }
    }
}

/// The circuit of one model, shared by all that ask it.
#[derive(Clone)]
pub(crate) struct Breaker(Arc<Shared>);

struct Shared {
    patience: Patience,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Outages in a row.
    outages: u32,
    /// The last requests, one bit each, the newest lowest: whether it had no answer.
    unanswered: u64,
    /// Whether the last answer was none to the question but about the key, the money or the form of requests.
    pub(super) refuses: bool,
    /// Set while the circuit is open.
    pub(super) open: Option<Open>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Open {
    /// Since when.
    pub(super) since: Instant,
    /// When the next request is let through.
    pub(super) probe_at: Instant,
    /// Whether the provider told so: then no answer to an earlier request closes it before.
    is_told: bool,
}

impl State {
    /// Whether no request is let through now.
    fn blocks(&self) -> bool {
        self.open.is_some_and(|open| Instant::now() < open.probe_at)
    }
}

impl Breaker {
    /// A closed circuit.
    pub(crate) fn new(patience: Patience) -> Self {
        let state = watch::Sender::new(State::default());
        Self(Arc::new(Shared { patience, state }))
    }

    /// Whether a request may be made now. While the circuit is open that is one probe each time.
    pub(super) fn admit(&self) -> bool {
        let mut admitted = true;
        self.0.state.send_if_modified(|state| {
            let now = Instant::now();
            match &mut state.open {
                None => false,
                Some(open) if now < open.probe_at => {
                    admitted = false;
                    false
                }
                Some(open) => {
                    open.probe_at = now + self.0.patience.probe;
                    open.is_told = false;
                    true
                }
            }
        });
        admitted
    }

    /// Takes in what came of a request, and how long that took.
    pub(super) fn record(&self, failure: Option<Failure>, took: Duration) {
        let patience = self.0.patience;
        self.0.state.send_if_modified(|state| {
            let before = state.open;
            match said(failure, took >= patience.long) {
                Said::Up => *state = state.answered(false),
                Said::Refuses => *state = state.answered(true),
                Said::Down => state.failed(1, patience),
                Said::Perhaps => state.failed(0, patience),
                Said::Nothing => {}
            }
            if let Some(after) = failure.and_then(Failure::after)
                && after > IN_LINE
            {
                state.leave_alone(after.min(LEFT_ALONE));
            }
            state.open != before
        });
    }

    /// Waits for a turn, but no longer than to the deadline, nor for a model that is down or goes down meanwhile.
    pub(crate) async fn wait<T>(
        &self,
        deadline: Instant,
        turn: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut state = self.0.state.subscribe();
        let blocks = async {
            while !state.borrow_and_update().blocks() {
                // The sender is ours: it is there as long as we are.
                if state.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            biased;
            () = blocks => Err(Failure::CircuitOpen),
            turn = turn => Ok(turn),
            () = sleep_until(deadline) => Err(Failure::NoTurn),
        }
    }

    /// What there is to know of it, and of its changes.
    pub(super) fn state(&self) -> watch::Receiver<State> {
        self.0.state.subscribe()
    }
}

impl State {
    fn answered(self, refuses: bool) -> Self {
        let open = self
            .open
            .filter(|open| open.is_told && Instant::now() < open.probe_at);
        // What had no answer in an outage counts no more when it is over: else the next one without would open it again.
        let is_over = self.open.is_some() && open.is_none();
        Self {
            outages: 0,
            unanswered: if is_over { 0 } else { self.unanswered << 1 },
            refuses,
            open,
        }
    }

    /// The provider told how long.
    fn leave_alone(&mut self, after: Duration) {
        let now = Instant::now();
        let open = self.open.get_or_insert(Open {
            since: now,
            probe_at: now,
            is_told: true,
        });
        open.is_told = true;
        open.probe_at = open.probe_at.max(now + after);
    }

    fn failed(&mut self, outages: u32, patience: Patience) {
        self.outages = self.outages.saturating_add(outages);
        self.unanswered = self.unanswered << 1 | 1;
        let last = u64::MAX >> 64_u32.saturating_sub(patience.last).min(63);
        let unanswered = (self.unanswered & last).count_ones();
        if self.open.is_none()
            && (self.outages >= patience.outages || unanswered >= patience.unanswered)
        {
            let now = Instant::now();
            self.open = Some(Open {
                since: now,
                probe_at: now + patience.probe,
                is_told: false,
            });
        }
    }
}

/// What the end of a request says of its model.
enum Said {
    Up,
    Refuses,
    Down,
    Perhaps,
    Nothing,
}

fn said(failure: Option<Failure>, long: bool) -> Said {
    match failure {
        Some(Failure::Overloaded { .. } | Failure::Unreachable) => Said::Down,
        Some(Failure::RateLimited { .. } | Failure::Malformed) => Said::Perhaps,
        Some(Failure::Timeout) if long => Said::Perhaps,
        Some(Failure::Timeout | Failure::CircuitOpen | Failure::NoTurn) => Said::Nothing,
        None
        | Some(
            Failure::Truncated | Failure::Refused | Failure::Filtered | Failure::ContextTooLong,
        ) => Said::Up,
        Some(Failure::Quota | Failure::Auth | Failure::BadRequest) => Said::Refuses,
    }
}
