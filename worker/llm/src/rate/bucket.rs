//! One limit per minute, of which a fifth is kept for urgent requests.
//!
//! Two limiters of `governor` over tokio's clock: everybody passes the whole one, ordinary requests first pass one of
//! four fifths. So they can never use up what is kept.

use std::num::NonZeroU32;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::{Instant, sleep};

type Limiter = RateLimiter<NotKeyed, InMemoryState, Monotonic, NoOpMiddleware<Nanos>>;

/// One limit.
pub(super) struct Bucket {
    all: Limiter,
    ordinary: Limiter,
    /// The most that ordinary requests can take at once.
    ordinary_burst: NonZeroU32,
    burst: NonZeroU32,
    clock: Monotonic,
}

impl Bucket {
    /// So many per minute, and no more than `burst` of them at once.
    pub(super) fn per_minute(limit: u32, burst: u32) -> Self {
        let clock = Monotonic(Instant::now());
        let burst = at_least_one(burst);
        let ordinary_burst = but_a_fifth(burst.get());
        let limiter = |limit, burst| {
            let quota = Quota::per_minute(limit).allow_burst(burst);
            RateLimiter::direct_with_clock(quota, clock)
        };
        Self {
            all: limiter(at_least_one(limit), burst),
            ordinary: limiter(but_a_fifth(limit), ordinary_burst),
            ordinary_burst,
            burst,
            clock,
        }
    }

    /// The most that can be taken at once.
    pub(super) fn burst(&self) -> u32 {
        self.burst.get()
    }

    /// Waits until so many may be used. What is more than the burst is taken in parts, so that the rate holds.
    ///
    /// # Errors
    ///
    /// How many were taken, where the turn of the next part would come after the deadline.
    pub(super) async fn take(
        &self,
        number: u64,
        urgent: bool,
        deadline: Instant,
    ) -> Result<(), u64> {
        if !urgent {
            self.pass(&self.ordinary, self.ordinary_burst, number, deadline)
                .await?;
        }
        self.pass(&self.all, self.burst, number, deadline).await
    }

    async fn pass(
        &self,
        limiter: &Limiter,
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

/// Tokio's clock, which tests can stop.
#[derive(Debug, Clone, Copy)]
struct Monotonic(Instant);

impl Clock for Monotonic {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

fn at_least_one(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN)
}

/// What ordinary requests may use: all but a fifth, at least one of two or more.
fn but_a_fifth(number: u32) -> NonZeroU32 {
    at_least_one(number.saturating_sub((number / 5).max(1)))
}
