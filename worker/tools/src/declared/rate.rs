//! Limits the requests of one tool in this process: per second, minute and day, and at the same time.
//!
//! A short wait is waited for. A longer one ends the call with an error that says when the next request is possible, so
//! that a case does not wait for a quota.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use nightshift_engine::tool::ToolError;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::manifest::LimitsTable;

/// The longest wait for a rate limit.
const MAX_WAIT: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) struct RateLimits {
    limiters: Vec<(u32, &'static str, DefaultDirectRateLimiter)>,
    concurrent: Semaphore,
    clock: DefaultClock,
}

impl RateLimits {
    pub(super) fn new(limits: &LimitsTable) -> Self {
        // The longest period comes last: a request that a shorter one refuses must not use up the day.
        let limiters = [
            (limits.per_second, "second", SECOND),
            (limits.per_minute, "minute", MINUTE),
            (limits.per_day, "day", DAY),
        ];
        let limiters = limiters.into_iter().filter_map(|(rate, period, length)| {
            let rate = NonZeroU32::new(rate?)?;
            let quota = Quota::with_period(length / rate.get())?.allow_burst(rate);
            Some((rate.get(), period, RateLimiter::direct(quota)))
        });
        Self {
            limiters: limiters.collect(),
            concurrent: Semaphore::new(limits.concurrent.max(1)),
            clock: DefaultClock::default(),
        }
    }

    /// Waits until a request is allowed. The request is over when the permit is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error when the wait would be long.
    pub(super) async fn admit(&self, title: &str) -> Result<SemaphorePermit<'_>, ToolError> {
        let permit = self
            .concurrent
            .acquire()
            .await
            .map_err(|_closed| crate::tool::unavailable(format!("{title} is shut down")))?;
        for (rate, period, limiter) in &self.limiters {
            while let Err(not_until) = limiter.check() {
                let wait = not_until.wait_time_from(self.clock.now());
                if wait > MAX_WAIT {
                    return Err(crate::tool::unavailable(format!(
                        "{title}: the limit of {rate} requests per {period} is reached; the next one is possible in {} s",
                        wait.as_secs() + 1
                    )));
                }
                tokio::time::sleep(wait).await;
            }
        }
        Ok(permit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn request_beyond_the_rate_is_refused_with_the_time() {
        let limits = RateLimits::new(&LimitsTable {
            per_minute: Some(4),
            per_day: Some(500),
            ..LimitsTable::default()
        });
        for _ in 0..4 {
            drop(limits.admit("VirusTotal").await.unwrap());
        }
        let error = limits.admit("VirusTotal").await.unwrap_err().to_string();
        assert!(
            error.starts_with(
                "VirusTotal: the limit of 4 requests per minute is reached; the next one is possible in 1"
            ),
            "{error}"
        );
    }

    #[tokio::test]
    async fn request_that_the_minute_refuses_does_not_use_up_the_day() {
        let limits = RateLimits::new(&LimitsTable {
            per_minute: Some(1),
            per_day: Some(2),
            ..LimitsTable::default()
        });
        drop(limits.admit("x").await.unwrap());
        for _ in 0..9 {
            let error = limits.admit("x").await.unwrap_err().to_string();
            assert!(error.contains("1 requests per minute"), "{error}");
        }
        let (_, period, day) = limits.limiters.last().unwrap();
        assert_eq!(*period, "day");
        assert!(
            day.check().is_ok() && day.check().is_err(),
            "one of two is left"
        );
    }

    #[tokio::test]
    async fn requests_at_the_same_time_are_bounded() {
        let limits = RateLimits::new(&LimitsTable {
            concurrent: 2,
            ..LimitsTable::default()
        });
        let first = limits.admit("x").await.unwrap();
        let _second = limits.admit("x").await.unwrap();
        assert_eq!(limits.concurrent.available_permits(), 0);
        drop(first);
        assert_eq!(limits.concurrent.available_permits(), 1);
    }
}
