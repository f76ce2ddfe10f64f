//! Whether a source can be read, for readiness and for the log: a change is logged once, not every try.

use std::sync::{Mutex, PoisonError};

/// The state of one source.
pub(crate) struct Health {
    source: String,
    why_not: Mutex<Option<String>>,
}

impl Health {
    /// Nothing is known before the first try.
    pub(crate) fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            why_not: Mutex::new(Some("not connected yet".to_owned())),
        }
    }

    /// It works.
    pub(crate) fn up(&self) {
        let was = self.replace(None);
        if was.is_some() {
            tracing::info!(source.name = self.source, "the source is connected");
        }
    }

    /// It does not.
    pub(crate) fn down(&self, why: &str) {
        let was = self.replace(Some(why.to_owned()));
        if was.as_deref() != Some(why) {
            tracing::warn!(
                source.name = self.source,
                why,
                "the source cannot be read; trying again"
            );
        }
    }

    /// We have closed it: nothing is wrong, and nothing is tried again.
    pub(crate) fn closed(&self) {
        self.replace(Some("closed".to_owned()));
        tracing::debug!(source.name = self.source, "the source is closed");
    }

    /// # Errors
    ///
    /// Why it cannot be read.
    pub(crate) fn ready(&self) -> Result<(), String> {
        let why_not = self.why_not.lock().unwrap_or_else(PoisonError::into_inner);
        why_not.clone().map_or(Ok(()), Err)
    }

    fn replace(&self, why_not: Option<String>) -> Option<String> {
        let mut held = self.why_not.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut held, why_not)
    }
}
