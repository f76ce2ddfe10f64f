//! Delivery: what destinations should show and do not, sent until it is shown.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use backon::{BackoffBuilder, ExponentialBuilder};
use chrono::Duration;
use nightshift_engine::{Clock, Measure, Meter};

use crate::{DeliveryError, Destination, Outbox, StoreError};

/// Shortest and longest wait between two tries.
const SHORTEST_WAIT: StdDuration = StdDuration::from_secs(1);
const LONGEST_WAIT: StdDuration = StdDuration::from_secs(600);

/// Sends what is due.
pub struct Delivery {
    /// What is due.
    pub outbox: Arc<dyn Outbox>,
    /// Where it goes.
    pub destinations: Vec<Arc<dyn Destination>>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where measurements go.
    pub meter: Arc<dyn Meter>,
}

/// One round over all destinations; how many reports were sent, and how many tries failed.
///
/// # Errors
///
/// When the store cannot be read or written.
pub async fn deliver_due(delivery: &Delivery, most: usize) -> Result<(usize, usize), StoreError> {
    let mut sent = 0;
    let mut failed = 0;
    for destination in &delivery.destinations {
        let name = destination.name();
        for due in delivery.outbox.due(name, most).await? {
            let result = destination
                .deliver(&due.report, due.remote_id.as_deref())
                .await;
            let outcome = if result.is_ok() { "sent" } else { "failed" };
            delivery.meter.count(&Measure::Delivery {
                destination: name.to_owned(),
                outcome,
            });
            match result {
                Ok(shown) => {
                    delivery.outbox.sent(name, &due, &shown).await?;
                    sent += 1;
                }
                Err(error) => {
                    tracing::warn!(destination = name, case = %due.case_id, %error, "a report was not delivered");
                    let retry_at =
                        wait(&error, due.attempts).map(|wait| delivery.clock.now() + wait);
                    delivery.outbox.failed(name, &due, &error, retry_at).await?;
                    failed += 1;
                }
            }
        }
    }
    Ok((sent, failed))
}

/// How long to wait before the next try; none where there is none.
pub(crate) fn wait(error: &DeliveryError, attempts: u32) -> Option<Duration> {
    match error {
        DeliveryError::Never { .. } => None,
        DeliveryError::Later { .. } | DeliveryError::Unclear { .. } => {
            let told = match error {
                DeliveryError::Later { after_secs, .. } => after_secs.unwrap_or(0),
                _ => 0,
            };
            let told = StdDuration::from_secs(told);
            let backoff = ExponentialBuilder::new()
                .with_min_delay(SHORTEST_WAIT)
                .with_max_delay(LONGEST_WAIT)
                .without_max_times()
                .build()
                .nth(usize::try_from(attempts.min(20)).unwrap_or(20))
                .unwrap_or(LONGEST_WAIT);
            Some(Duration::from_std(told.max(backoff)).unwrap_or(Duration::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(after_secs: Option<u64>) -> DeliveryError {
        DeliveryError::Later {
            what: "busy".into(),
            after_secs,
        }
    }

    #[test]
    fn waits_grow_to_ten_minutes_and_are_never_shorter_than_told() {
        let secs = |error: &DeliveryError, attempts| wait(error, attempts).map(|w| w.num_seconds());
        assert_eq!(secs(&later(None), 0), Some(1));
        assert_eq!(secs(&later(None), 5), Some(32));
        assert_eq!(secs(&later(None), 40), Some(600));
        assert_eq!(secs(&later(Some(90)), 0), Some(90));
        assert_eq!(
            secs(
                &DeliveryError::Never {
                    what: "gone".into()
                },
                0
            ),
            None
        );
    }
}
