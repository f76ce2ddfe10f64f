//! The intake loop of one source: no more than there is room for, one batch after the other.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{InboxRoom, PAUSE, pause, told};
use crate::{Intake, IntakeError, Source};

/// Takes messages from a source until it is told to stop.
pub struct Taking {
    /// How messages become cases.
    pub intake: Intake,
    /// Where they come from.
    pub source: Arc<dyn Source>,
    /// How many the inbox may take.
    pub room: Arc<InboxRoom>,
    /// Most messages of one batch.
    pub batch: usize,
}

impl Taking {
    /// Runs until it is told to stop, or the source has come to its end. What was taken and is not committed is given
    /// back then, and comes again.
    pub async fn run(&self, stop: &CancellationToken) {
        loop {
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                round = self.round() => round,
            };
            match ended {
                Ok(true) => break,
                Ok(false) => {}
                // The source waits by itself before it tries again.
                Err(IntakeError::Source(error)) => {
                    tracing::warn!(
                        source = self.source.name(),
                        error = told(&error),
                        "no messages come"
                    );
                }
                Err(IntakeError::Store(error)) => {
                    tracing::warn!(
                        source = self.source.name(),
                        error = told(&error),
                        "a batch was given back"
                    );
                    pause(PAUSE, stop).await;
                }
            }
        }
        self.source.close().await;
    }

    /// One batch; whether the source has come to its end.
    async fn round(&self) -> Result<bool, IntakeError> {
        let room = self.room.wait().await;
        let most = usize::try_from(room).unwrap_or(usize::MAX).min(self.batch);
        let received = self.intake.round(self.source.as_ref(), most).await?;
        let cases = received.accepted.iter().filter(|one| one.case_id.is_some());
        self.room.took(u64::try_from(cases.count()).unwrap_or(0));
        Ok(received.ended)
    }
}
