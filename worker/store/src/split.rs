//! A batch is one transaction, or a few where it is large. One that fails for something in it is split, down to the single
//! alert, so that one alert that cannot be stored keeps no other waiting: it becomes a dead letter with its bytes, which is
//! announced.

use std::sync::Arc;

use nightshift_engine::error_chain::format_error_chain;
use nightshift_pipeline::intake::{Arrival, unreadable_alert};
use nightshift_pipeline::port::{AcceptedAlert, StoreError};

/// Why nothing of a batch was committed.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// Something in it; parts of it may be accepted.
    Batch(StoreError),
    /// The store: it would accept nothing else either.
    Store(StoreError),
}

/// Accepts a batch with `whole`, which commits what it is given or nothing of it: at most `most` together. It is told which
/// are parts of what failed as a whole.
///
/// # Errors
///
/// When the store is away; parts before may have been accepted then, and are sightings when they come again. When
/// somebody asked for a triage of what cannot be stored.
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

/// What is stored instead of an alert that cannot be; nothing where somebody waits for its triage, or where it is one.
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
