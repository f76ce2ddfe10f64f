//! Rules for opening and closing a circuit.
//!
//! | outcome of a request | meaning |
//! |---|---|
//! | an answer, or a failure because of length or content | the model is up: the circuit closes |
//! | a failure because of the key, the money or the request's form | the model is up and refuses: waiting helps only where another model is down |
//! | overloaded or unreachable | the model is down: several in a row open the circuit |
//! | rate limited, no answer in a long time, or unreadable | unclear: the circuit opens when nearly all of the last requests end so |
//! | no answer in a short time | nothing: the question had no time left |
//! | a wait longer than any request queues | the circuit is open until then |

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::chat::Failure;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Maximum wait that a provider sets for one request and that all queued requests respect. A longer wait is an
/// outage.
pub(crate) const IN_LINE: Duration = Duration::from_secs(60);
/// Maximum time for which a model is left alone, whatever its provider set.
const LEFT_ALONE: Duration = Duration::from_secs(3_600);

/// Thresholds of a circuit and the interval of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Number of consecutive outages that opens the circuit.
    pub(crate) outages: u32,
    /// Number of last requests that are considered; at most 64.
    pub(crate) last: u32,
    /// Number of unanswered requests among them that also opens the circuit.
    pub(crate) unanswered: u32,
    /// Time between two probes.
    pub(crate) probe: Duration,
    /// Minimum time without an answer that counts as long.
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

/// The circuit of one model, which all its users share.
#[derive(Clone)]
pub(crate) struct Breaker(Arc<Shared>);

struct Shared {
    patience: Patience,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    /// Number of consecutive outages.
    outages: u32,
    /// The last requests, one bit each, newest lowest; a set bit is an unanswered request.
    unanswered: u64,
    /// Whether the last response was a refusal because of the key, the money or the form of requests.
    pub(super) refuses: bool,
    /// The open state; `None` while the circuit is closed.
    pub(super) open: Option<Open>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Open {
    /// Time when the circuit opened.
    pub(super) since: Instant,
    /// Time of the next probe.
    pub(super) probe_at: Instant,
    /// Whether the provider set that time. Then an answer to an earlier request does not close the circuit.
    is_told: bool,
}

impl State {
    /// Returns whether requests are currently blocked.
    fn blocks(&self) -> bool {
        self.open.is_some_and(|open| Instant::now() < open.probe_at)
    }
}

impl Breaker {
    /// Creates a closed circuit.
    pub(crate) fn new(patience: Patience) -> Self {
        let state = watch::Sender::new(State::default());
        Self(Arc::new(Shared { patience, state }))
    }

    /// Returns whether a request may be made now. While the circuit is open, one probe per interval is admitted.
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

    /// Records the outcome of a request and its duration.
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

    /// Waits for a turn until the deadline at most, and gives up when the circuit is or becomes open.
    pub(crate) async fn wait<T>(
        &self,
        deadline: Instant,
        turn: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut state = self.0.state.subscribe();
        let blocks = async {
            while !state.borrow_and_update().blocks() {
                // The sender lives as long as `self`.
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

    /// Returns a receiver of the state and its changes.
    pub(super) fn state(&self) -> watch::Receiver<State> {
        self.0.state.subscribe()
    }
}

impl State {
    fn answered(self, refuses: bool) -> Self {
        let open = self
            .open
            .filter(|open| open.is_told && Instant::now() < open.probe_at);
        // Requests that went unanswered in an outage are forgotten at its end. Otherwise the next one would open the
        // circuit again.
        let is_over = self.open.is_some() && open.is_none();
        Self {
            outages: 0,
            unanswered: if is_over { 0 } else { self.unanswered << 1 },
            refuses,
            open,
        }
    }

    /// Opens the circuit for the time that the provider set.
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

/// Meaning of a request's outcome for its model.
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
