//! Splits batches. A batch is one transaction, or several if it is large. If something in a batch fails, the batch is
//! split down to the single alert, so one alert that cannot be stored does not block the others. That alert becomes a
//! dead letter with its bytes and is announced.

use std::sync::Arc;

use nightshift_engine::error_chain::format_error_chain;
use nightshift_pipeline::intake::{Arrival, unreadable_alert};
use nightshift_pipeline::port::{AcceptedAlert, StoreError};

/// The reason why nothing of a batch was committed.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// The batch contains something that cannot be stored. Parts of it may be accepted.
    Batch(StoreError),
    /// The store failed and would not accept anything else either.
    Store(StoreError),
}

/// Accepts a batch with `whole`, which commits all of a part or nothing. A part has at most `most` alerts. The second
/// argument of `whole` says whether the part results from the split of a failed one.
///
/// # Errors
///
/// Returns an error if the store is unavailable. Earlier parts may have been accepted; their alerts are sightings when
/// they are delivered again. Also returns an error if an alert that cannot be stored was submitted on demand.
pub(crate) async fn accept<F>(
    batch: Arc<[Arrival]>,
    most: usize,
    whole: impl Fn(Arc<[Arrival]>, bool) -> F,
) -> Result<Vec<AcceptedAlert>, StoreError>
where
    F: Future<Output = Result<Vec<AcceptedAlert>, CommitError>>,
{
    let mut accepted = Vec::with_capacity(batch.len());
    let mut parts: Vec<(Arc<[Arrival]>, bool)> = if batch.len() <= most {
        vec![(batch, false)]
    } else {
        let parts = batch.chunks(most).rev();
        parts.map(|part| (part.into(), false)).collect()
    };
    while let Some((part, is_split)) = parts.pop() {
        match whole(Arc::clone(&part), is_split).await {
            Ok(mut some) => accepted.append(&mut some),
            Err(CommitError::Store(error)) => return Err(error),
            Err(CommitError::Batch(error)) => {
                if let [one] = part.as_ref() {
                    let letter = dead_letter(one, &error).ok_or(error)?;
                    parts.push((Arc::new([letter]), true));
                } else {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([(second.into(), true), (first.into(), true)]);
                }
            }
        }
    }
    Ok(accepted)
}

/// Returns the dead letter for an alert that cannot be stored. Returns `None` if somebody waits for its triage, or if
/// it is a dead letter already.
fn dead_letter(arrival: &Arrival, error: &StoreError) -> Option<Arrival> {
    if arrival.on_demand || arrival.unreadable.is_some() {
        return None;
    }
    let why = format!("it cannot be stored: {}", format_error_chain(error));
    tracing::error!(source.name = arrival.source, key = %arrival.alert.key, why, "an alert becomes a dead letter");
    let alert = unreadable_alert(&arrival.source, &arrival.raw, &why, arrival.at);
    Some(Arrival {
        alert: Arc::new(alert),
        unreadable: Some(why),
        ..arrival.clone()
    })
}
