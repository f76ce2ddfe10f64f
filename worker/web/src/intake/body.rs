//! Bodies, read within bounds: each has one, and so have all of them together.
//!
//! Memory is asked for as bytes arrive, not as a header promises them, so that nobody reserves what it does not send. It
//! stays reserved until the message is settled.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::Refused;

/// Most bytes of a body. What is above 1 MiB cannot be read as alerts, and is a dead letter with its bytes.
pub(super) const MOST_BYTES: usize = 16 << 20;
/// Most bytes of all bodies that wait, in KiB.
pub(super) const MOST_KIB: usize = 128 << 10;
/// Most attributes of one message.
const MOST_ATTRIBUTES: usize = 64;

/// A body, and the memory that it takes.
pub(super) type Whole = (Vec<u8>, OwnedSemaphorePermit);

/// Reads a body of at most this many bytes whole.
///
/// # Errors
///
/// When it is too large, too much is under way, or it breaks off.
pub(super) async fn whole(
    headers: &HeaderMap,
    body: Body,
    memory: &Arc<Semaphore>,
    most_bytes: usize,
) -> Result<Whole, Refused> {
    let packed = headers.get(CONTENT_ENCODING);
    if packed.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Refused::Packed);
    }
    let said = headers
        .get(CONTENT_LENGTH)
        .and_then(|one| one.to_str().ok());
    let said: Option<u64> = said.and_then(|one| one.parse().ok());
    let most = u64::try_from(most_bytes).unwrap_or(u64::MAX);
    if said.is_some_and(|said| said > most) || body.size_hint().lower() > most {
        return Err(Refused::TooLarge);
    }
    let reserve = |bytes: usize| {
        let kib = u32::try_from(bytes.div_ceil(1024).max(1)).unwrap_or(u32::MAX);
        let permit = Arc::clone(memory).try_acquire_many_owned(kib);
        permit.map_err(|_| Refused::Full)
    };
    let mut permit = reserve(1)?;
    let (mut bytes, mut chunks) = (Vec::new(), body.into_data_stream());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refused::Incomplete)?;
        if bytes.len() + chunk.len() > most_bytes {
            return Err(Refused::TooLarge);
        }
        permit.merge(reserve(chunk.len())?);
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, permit))
}

/// The headers that say what the body is: those of a CloudEvent in binary mode, its type, its trace.
pub(super) fn attributes(headers: &HeaderMap) -> BTreeMap<String, String> {
    let is_wanted = |name: &str| {
        name.starts_with("ce-") || matches!(name, "content-type" | "traceparent" | "tracestate")
    };
    headers
        .iter()
        .filter(|(name, _)| is_wanted(name.as_str()))
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .take(MOST_ATTRIBUTES)
        .collect()
}
