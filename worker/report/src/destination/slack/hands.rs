//! A clock for the tests that advances by waiting. Nothing sleeps.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::port::Clock;

use super::bot::Rest;

/// A clock that advances when somebody waits.
pub(super) struct Hands(Mutex<DateTime<Utc>>);

impl Hands {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(crate::fixture::now())))
    }

    pub(super) fn wait(&self, time: Duration) {
        *self.0.lock().unwrap() += TimeDelta::from_std(time).unwrap();
    }
}

impl Clock for Hands {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

#[async_trait]
impl Rest for Hands {
    async fn rest(&self, time: Duration) {
        self.wait(time);
    }
}
