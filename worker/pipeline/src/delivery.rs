//! Delivery sends due reports until their destinations show them.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter;
use tracing::Instrument as _;

use crate::port::{
    DeliveryError, DeliveryReceipt, Destination, Outbox, PendingDelivery, StoreError,
};
use crate::spans;

/// Shortest wait between two attempts.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(600);
/// Longest wait, also where a destination names a longer one. Stores rely on it.
pub const MAX_WAIT: Duration = Duration::from_secs(3_600);

/// Sends due reports.
pub struct DirectDelivery {
    /// Store of due reports.
    pub outbox: Arc<dyn Outbox>,
    /// Destinations with their kinds as in the configuration, such as `slack`.
    pub destinations: Vec<(String, Arc<dyn Destination>)>,
    pub meter: Arc<dyn Meter>,
}

/// Sends the due reports of all destinations once, and returns how many were sent and how many attempts failed.
///
/// This is for destinations that only this process serves, such as its standard output: no lease is taken and nothing
/// is looked up. [`crate::loops::DeliveryLoop`] serves all other destinations.
pub async fn deliver_due(
    delivery: &DirectDelivery,
    most: usize,
) -> Result<(usize, usize), StoreError> {
    let mut sent = 0;
    let mut failed = 0;
    for (kind, destination) in &delivery.destinations {
        let name = destination.name();
        for due in delivery.outbox.due_deliveries(name, most).await? {
            if !destination.wants(&due.payload) {
                delivery.outbox.record_sent(name, &due, None).await?;
                continue;
            }
            let result = attempt_delivery(kind, destination.as_ref(), &due).await;
            let outcome = if result.is_ok() { "sent" } else { "failed" };
            delivery.meter.count(&Measurement::Delivery {
                destination: name.to_owned(),
                outcome,
            });
            match result {
                Ok(shown) => {
                    delivery
                        .outbox
                        .record_sent(name, &due, Some(&shown))
                        .await?;
                    sent += 1;
                }
                Err(error) => {
                    spans::delivery_span(name, &due).in_scope(|| {
                        tracing::warn!(%error, "cannot deliver report");
                    });
                    let retry_in = retry_delay(&error, due.attempts);
                    delivery
                        .outbox
                        .record_failed(name, &due, &error, retry_in)
                        .await?;
                    failed += 1;
                }
            }
        }
    }
    Ok((sent, failed))
}

/// Makes one attempt.
async fn attempt_delivery(
    kind: &str,
    destination: &dyn Destination,
    due: &PendingDelivery,
) -> Result<DeliveryReceipt, DeliveryError> {
    let name = destination.name();
    let around = spans::delivery_span(name, due);
    let span = around.in_scope(|| spans::send_span(kind, name, due));
    let sending = destination.deliver(&due.payload).instrument(span.clone());
    let result = sending.instrument(around).await;
    if let Err(error) = &result {
        spans::record_send_error(&span, error);
    }
    result
}

/// Returns how long to wait before the next attempt, or `None` if there is none.
pub(crate) fn retry_delay(error: &DeliveryError, attempts: u32) -> Option<Duration> {
    let told = match error {
        DeliveryError::Permanent { .. } => return None,
        DeliveryError::Ambiguous { .. } => 0,
        DeliveryError::NotVisibleYet { after_secs, .. } => *after_secs,
        DeliveryError::Transient { after_secs, .. } | DeliveryError::Partial { after_secs, .. } => {
            after_secs.unwrap_or(0)
        }
    };
    Some(
        Duration::from_secs(told)
            .max(backoff(attempts))
            .min(MAX_WAIT),
    )
}

/// Returns the backoff after this many attempts if the destination did not name a time.
pub(crate) fn backoff(attempts: u32) -> Duration {
    ExponentialBuilder::new()
        .with_min_delay(MIN_RETRY_DELAY)
        .with_max_delay(MAX_RETRY_DELAY)
        .without_max_times()
        .build()
        .nth(usize::try_from(attempts.min(20)).unwrap_or(20))
        .unwrap_or(MAX_RETRY_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(after_secs: Option<u64>) -> DeliveryError {
        DeliveryError::Transient {
            what: "busy".into(),
            after_secs,
        }
    }

    #[test]
    fn waits_grow_to_ten_minutes_and_are_never_shorter_than_told() {
        let secs =
            |error: &DeliveryError, attempts| retry_delay(error, attempts).map(|w| w.as_secs());
        assert_eq!(secs(&later(None), 0), Some(1));
        assert_eq!(secs(&later(None), 5), Some(32));
        assert_eq!(secs(&later(None), 40), Some(600));
        assert_eq!(secs(&later(Some(90)), 0), Some(90));
        assert_eq!(secs(&later(Some(86_400)), 0), Some(3_600));
        assert_eq!(
            secs(
                &DeliveryError::Permanent {
                    what: "gone".into()
                },
                0
            ),
            None
        );
    }
}
