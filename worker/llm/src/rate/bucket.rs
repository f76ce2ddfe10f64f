//! Enforces one limit per minute, of which a fifth is reserved for urgent requests.
//!
//! Two limiters of `governor` run on tokio's clock. Every request passes the full limiter; ordinary requests first pass
//! one of four fifths. So ordinary requests can never use up the reserve.

use std::num::NonZeroU32;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::{Instant, sleep};

type GcraLimiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Nanos>>;

/// One limit per minute.
pub(super) struct TokenBucket {
    all: GcraLimiter,
    ordinary: GcraLimiter,
    /// Maximum burst of ordinary requests.
    ordinary_burst: NonZeroU32,
    burst: NonZeroU32,
    clock: TokioClock,
}

impl TokenBucket {
    /// Creates a limit per minute with at most `burst` at once.
    pub(super) fn per_minute(limit: u32, burst: u32) -> Self {
        let clock = TokioClock(Instant::now());
        let burst = at_least_one(burst);
        let ordinary_burst = ordinary_share(burst.get());
        let limiter = |limit, burst| {
            let quota = Quota::per_minute(limit).allow_burst(burst);
            RateLimiter::direct_with_clock(quota, clock)
        };
        Self {
            all: limiter(at_least_one(limit), burst),
            ordinary: limiter(ordinary_share(limit), ordinary_burst),
            ordinary_burst,
            burst,
            clock,
        }
    }

    /// Returns the maximum burst.
    pub(super) fn burst(&self) -> u32 {
        self.burst.get()
    }

    /// Waits until this many may be used. A number above a burst is taken in parts, so that the rate holds.
    ///
    /// # Errors
    ///
    /// Returns the number that was taken, when the next part would come after the deadline.
    pub(super) async fn acquire(
        &self,
        number: u64,
        urgent: bool,
        deadline: Instant,
    ) -> Result<(), u64> {
        if !urgent {
            self.acquire_from(&self.ordinary, self.ordinary_burst, number, deadline)
                .await?;
        }
        self.acquire_from(&self.all, self.burst, number, deadline)
            .await
    }

    async fn acquire_from(
        &self,
        limiter: &GcraLimiter,
        burst: NonZeroU32,
        number: u64,
        deadline: Instant,
    ) -> Result<(), u64> {
        let mut left = number;
        while let Some(part) =
            NonZeroU32::new(u32::try_from(left).unwrap_or(u32::MAX).min(burst.get()))
        {
            match limiter.check_n(part) {
                // No part is larger than the burst, so there is always capacity for it.
                Ok(Ok(())) | Err(_) => left -= u64::from(part.get()),
                Ok(Err(not_yet)) => {
                    let wait = not_yet.wait_time_from(self.clock.now());
                    if Instant::now() + wait >= deadline {
                        return Err(number - left);
                    }
                    sleep(wait).await;
                }
            }
        }
        Ok(())
    }
}

/// Tokio's clock, which tests can pause.
#[derive(Debug, Clone, Copy)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

fn at_least_one(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// Returns the share of ordinary requests: all but a fifth, at least one of two or more.
fn ordinary_share(number: u32) -> NonZeroU32 {
    at_least_one(number.saturating_sub((number / 5).max(1)))
}
