//! Defines rules for opening and closing a circuit.
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

use crate::chat::ChatFailure;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Maximum wait that a provider sets for one request and that all queued requests respect. A longer wait is an
/// outage.
pub(crate) const MAX_QUEUED_WAIT: Duration = Duration::from_secs(60);
/// Maximum time for which a model is left alone, even if its provider sets a longer one.
const MAX_PROVIDER_WAIT: Duration = Duration::from_secs(3_600);

/// Thresholds of a circuit and the interval of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BreakerConfig {
    /// Number of consecutive outages that opens the circuit.
    pub(crate) max_outages: u32,
    /// Number of last requests that are considered; at most 64.
    pub(crate) window_requests: u32,
    /// Number of unanswered requests among them that also opens the circuit.
    pub(crate) max_unanswered: u32,
    /// Time between two probes.
    pub(crate) probe_interval: Duration,
    /// Minimum time without an answer that counts as long.
    pub(crate) long_wait: Duration,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            max_outages: 5,
            window_requests: 20,
            max_unanswered: 16,
            probe_interval: Duration::from_secs(10),
            long_wait: Duration::from_secs(10),
        }
    }
}

/// The circuit of one model, which all its users share.
#[derive(Clone)]
pub(crate) struct CircuitBreaker(Arc<SharedBreaker>);

struct SharedBreaker {
    config: BreakerConfig,
    state: watch::Sender<BreakerState>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BreakerState {
    /// Number of consecutive outages.
    outages: u32,
    /// The last requests, one bit each, newest lowest; a set bit is an unanswered request.
    unanswered: u64,
    /// True if the last response was a refusal because of the key, the money or the form of requests.
    pub(super) refuses: bool,
    /// The open state; `None` while the circuit is closed.
    pub(super) open_circuit: Option<OpenCircuit>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OpenCircuit {
    /// Time when the circuit opened.
    pub(super) since: Instant,
    /// Time of the next probe.
    pub(super) probe_at: Instant,
    /// True if the provider set that time. Then an answer to an earlier request does not close the circuit.
    is_set_by_provider: bool,
}

impl BreakerState {
    /// Returns whether requests are currently blocked.
    fn is_blocking(&self) -> bool {
        self.open_circuit
            .is_some_and(|open| Instant::now() < open.probe_at)
    }
}

impl CircuitBreaker {
    /// Creates a closed circuit.
    pub(crate) fn new(patience: BreakerConfig) -> Self {
        let state = watch::Sender::new(BreakerState::default());
        Self(Arc::new(SharedBreaker {
            config: patience,
            state,
        }))
    }

    /// Returns whether a request may be made now. While the circuit is open, one probe per interval is admitted.
    pub(super) fn admit(&self) -> bool {
        let mut admitted = true;
        self.0.state.send_if_modified(|state| {
            let now = Instant::now();
            match &mut state.open_circuit {
                None => false,
                Some(open) if now < open.probe_at => {
                    admitted = false;
                    false
                }
                Some(open) => {
                    open.probe_at = now + self.0.config.probe_interval;
                    open.is_set_by_provider = false;
                    true
                }
            }
        });
        admitted
    }

    /// Records the outcome of a request and its duration.
    pub(super) fn record(&self, failure: Option<ChatFailure>, took: Duration) {
        let patience = self.0.config;
        self.0.state.send_if_modified(|state| {
            let before = state.open_circuit;
            match health_signal(failure, took >= patience.long_wait) {
                HealthSignal::Up => *state = state.after_answer(false),
                HealthSignal::Refuses => *state = state.after_answer(true),
                HealthSignal::Down => state.record_failure(1, patience),
                HealthSignal::Suspect => state.record_failure(0, patience),
                HealthSignal::Unknown => {}
            }
            if let Some(after) = failure.and_then(ChatFailure::retry_after)
                && after > MAX_QUEUED_WAIT
            {
                state.hold_open(after.min(MAX_PROVIDER_WAIT));
            }
            state.open_circuit != before
        });
    }

    /// Waits for a turn until the deadline at most, and gives up when the circuit is or becomes open.
    pub(crate) async fn wait_for_turn<T>(
        &self,
        deadline: Instant,
        turn: impl Future<Output = T>,
    ) -> Result<T, ChatFailure> {
        let mut state = self.0.state.subscribe();
        let blocks = async {
            while !state.borrow_and_update().is_blocking() {
                // The sender lives as long as `self`.
                if state.changed().await.is_err() {
                    break;
                }
            }
        };
        tokio::select! {
            biased;
            () = blocks => Err(ChatFailure::CircuitOpen),
            turn = turn => Ok(turn),
            () = sleep_until(deadline) => Err(ChatFailure::NoTurn),
        }
    }

    /// Returns a receiver of the state and its changes.
    pub(super) fn state(&self) -> watch::Receiver<BreakerState> {
        self.0.state.subscribe()
    }
}

impl BreakerState {
    fn after_answer(self, refuses: bool) -> Self {
        let open = self
            .open_circuit
            .filter(|open| open.is_set_by_provider && Instant::now() < open.probe_at);
        // Requests that went unanswered in an outage are forgotten at its end. Otherwise the next one would open the
        // circuit again.
        let is_over = self.open_circuit.is_some() && open.is_none();
        Self {
            outages: 0,
            unanswered: if is_over { 0 } else { self.unanswered << 1 },
            refuses,
            open_circuit: open,
        }
    }

    /// Opens the circuit for the time that the provider set.
    fn hold_open(&mut self, after: Duration) {
        let now = Instant::now();
        let open = self.open_circuit.get_or_insert(OpenCircuit {
            since: now,
            probe_at: now,
            is_set_by_provider: true,
        });
        open.is_set_by_provider = true;
        open.probe_at = open.probe_at.max(now + after);
    }

    fn record_failure(&mut self, outages: u32, patience: BreakerConfig) {
        self.outages = self.outages.saturating_add(outages);
        self.unanswered = self.unanswered << 1 | 1;
        let last = u64::MAX >> 64_u32.saturating_sub(patience.window_requests).min(63);
        let unanswered = (self.unanswered & last).count_ones();
        if self.open_circuit.is_none()
            && (self.outages >= patience.max_outages || unanswered >= patience.max_unanswered)
        {
            let now = Instant::now();
            self.open_circuit = Some(OpenCircuit {
                since: now,
                probe_at: now + patience.probe_interval,
                is_set_by_provider: false,
            });
        }
    }
}

/// Meaning of a request's outcome for its model.
enum HealthSignal {
    Up,
    Refuses,
    Down,
    Suspect,
    Unknown,
}

fn health_signal(failure: Option<ChatFailure>, long: bool) -> HealthSignal {
    match failure {
        Some(ChatFailure::Overloaded { .. } | ChatFailure::Unreachable) => HealthSignal::Down,
        Some(ChatFailure::RateLimited { .. } | ChatFailure::Malformed) => HealthSignal::Suspect,
        Some(ChatFailure::Timeout) if long => HealthSignal::Suspect,
        Some(ChatFailure::Timeout | ChatFailure::CircuitOpen | ChatFailure::NoTurn) => {
            HealthSignal::Unknown
        }
        None
        | Some(
            ChatFailure::Truncated
            | ChatFailure::Refused
            | ChatFailure::Filtered
            | ChatFailure::ContextTooLong,
        ) => HealthSignal::Up,
        Some(ChatFailure::Quota | ChatFailure::Auth | ChatFailure::BadRequest) => {
            HealthSignal::Refuses
        }
    }
}
