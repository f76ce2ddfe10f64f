//! Tracks the health of a source, for readiness and the log. A change is logged once, not at every attempt.

use parking_lot::Mutex;

pub(crate) struct SourceHealth {
    source: String,
    why_not: Mutex<Option<String>>,
}

impl SourceHealth {
    /// Creates the state before the first attempt.
    pub(crate) fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            why_not: Mutex::new(Some("not connected yet".to_owned())),
        }
    }

    /// Notes that the source works.
    pub(crate) fn up(&self) {
        let was = self.replace(None);
        if was.is_some() {
            tracing::info!(source.name = self.source, "source connected");
        }
    }

    /// Notes that the source fails.
    pub(crate) fn down(&self, why: &str) {
        let was = self.replace(Some(why.to_owned()));
        if was.as_deref() != Some(why) {
            tracing::warn!(
                source.name = self.source,
                why,
                "cannot read source; retrying"
            );
        }
    }

    /// Notes that the source was closed. This is not a failure, and there is no further attempt.
    pub(crate) fn closed(&self) {
        self.replace(Some("closed".to_owned()));
        tracing::debug!(source.name = self.source, "source closed");
    }

    /// Returns whether the source can be read.
    ///
    /// # Errors
    ///
    /// Returns the reason why the source is not ready.
    pub(crate) fn ready(&self) -> Result<(), String> {
        let why_not = self.why_not.lock();
        why_not.clone().map_or(Ok(()), Err)
    }

    fn replace(&self, why_not: Option<String>) -> Option<String> {
        let mut held = self.why_not.lock();
        std::mem::replace(&mut held, why_not)
    }
}
