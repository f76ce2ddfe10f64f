//! Delivery: sends due reports until their destinations show them.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use nightshift_engine::measure::Measure;
use nightshift_engine::port::Meter;
use tracing::Instrument as _;

use crate::port::{DeliveryError, Destination, Due, Outbox, Sent, StoreError};
use crate::spans;

/// Shortest wait between two attempts.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Sends due reports.
pub struct Delivery {
    /// Store of due reports.
    pub outbox: Arc<dyn Outbox>,
    /// Destinations with their kinds as in the configuration, such as `slack`.
    pub destinations: Vec<(String, Arc<dyn Destination>)>,
    pub meter: Arc<dyn Meter>,
}

/// Sends the due reports of all destinations once, and returns how many were sent and how many attempts failed.
///
/// This is for destinations that only this process serves, such as its standard output: no lease is taken and nothing
/// is looked up. [`crate::loops::Delivering`] serves all other destinations.
pub async fn deliver_due(delivery: &Delivery, most: usize) -> Result<(usize, usize), StoreError> {
    let mut sent = 0;
    let mut failed = 0;
    for (kind, destination) in &delivery.destinations {
        let name = destination.name();
        for due in delivery.outbox.due(name, most).await? {
            if !destination.wants(&due.showing) {
                delivery.outbox.sent(name, &due, None).await?;
                continue;
            }
            let result = send(kind, destination.as_ref(), &due).await;
            let outcome = if result.is_ok() { "sent" } else { "failed" };
            delivery.meter.count(&Measure::Delivery {
                destination: name.to_owned(),
                outcome,
            });
            match result {
                Ok(shown) => {
                    delivery.outbox.sent(name, &due, Some(&shown)).await?;
                    sent += 1;
                }
                Err(error) => {
                    spans::of_delivery(name, &due).in_scope(|| {
                        tracing::warn!(%error, "a report was not delivered");
                    });
                    let retry_in = wait(&error, due.attempts);
                    delivery.outbox.failed(name, &due, &error, retry_in).await?;
                    failed += 1;
                }
            }
        }
    }
    Ok((sent, failed))
}

/// Makes one attempt.
async fn send(kind: &str, destination: &dyn Destination, due: &Due) -> Result<Sent, DeliveryError> {
    let name = destination.name();
    let around = spans::of_delivery(name, due);
    let span = around.in_scope(|| spans::of_sending(kind, name, due));
    let sending = destination.deliver(&due.showing).instrument(span.clone());
    let result = sending.instrument(around).await;
    if let Err(error) = &result {
        spans::not_sent(&span, error);
    }
    result
}

/// Returns how long to wait before the next attempt, or `None` if there is none.
pub(crate) fn wait(error: &DeliveryError, attempts: u32) -> Option<Duration> {
    let told = match error {
        DeliveryError::Never { .. } => return None,
        DeliveryError::Unclear { .. } => 0,
        DeliveryError::Settling { after_secs, .. } => *after_secs,
        DeliveryError::Later { after_secs, .. } | DeliveryError::Partly { after_secs, .. } => {
            after_secs.unwrap_or(0)
        }
    };
    Some(Duration::from_secs(told).max(backoff(attempts)))
}

/// Returns the backoff after this many attempts if the destination did not name a time.
pub(crate) fn backoff(attempts: u32) -> Duration {
    ExponentialBuilder::new()
        .with_min_delay(SHORTEST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .without_max_times()
        .build()
        .nth(usize::try_from(attempts.min(20)).unwrap_or(20))
        .unwrap_or(LONGEST_WAIT)
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
        let secs = |error: &DeliveryError, attempts| wait(error, attempts).map(|w| w.as_secs());
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
