//! Provides a clock for the tests that advances by waiting. Nothing sleeps.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::port::Clock;

use super::bot::Pacer;

/// A clock that advances when somebody waits.
pub(super) struct ManualClock(Mutex<DateTime<Utc>>);

impl ManualClock {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(crate::fixture::now())))
    }

    pub(super) fn wait(&self, time: Duration) {
        *self.0.lock().unwrap() += TimeDelta::from_std(time).unwrap();
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

#[async_trait]
impl Pacer for ManualClock {
    async fn pause(&self, time: Duration) {
        self.wait(time);
    }
}
