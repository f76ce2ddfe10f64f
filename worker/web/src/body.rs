//! Reads request bodies within limits, for each body and for all bodies of one kind together.
//!
//! Memory is reserved as bytes arrive, not by the promised length, so that nobody reserves what is never sent. The
//! reservation lasts as long as its permit.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Maximum number of bytes of a refused body that are still read, and the time limit for that. Many senders read the
/// response only after sending everything and would otherwise see only a closed connection.
const MAX_DRAINED_BYTES: usize = 20 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A body and its memory reservation.
pub(crate) type BufferedBody = (Vec<u8>, OwnedSemaphorePermit);

/// The reason why a body is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// The body is compressed.
    #[error("content-encoding is not supported; send the body uncompressed")]
    Compressed,
    #[error("the body is too large; send fewer alerts at once")]
    TooLarge,
    /// The connection broke off.
    #[error("the body is incomplete")]
    Incomplete,
    /// All memory for bodies is in use.
    #[error("too many requests are in progress; send it again later")]
    MemoryFull,
}

impl BodyError {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Compressed => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::BAD_REQUEST,
            Self::MemoryFull => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The memory budget for all bodies of one kind.
#[derive(Debug, Clone)]
pub(crate) struct BodyMemory(Arc<Semaphore>);

impl BodyMemory {
    pub(crate) fn with_kib(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    fn kib(&self, kib: usize) -> Result<OwnedSemaphorePermit, BodyError> {
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.0).try_acquire_many_owned(kib);
        permit.map_err(|_| BodyError::MemoryFull)
    }

    /// Moves a reservation from another budget to this one.
    ///
    /// # Errors
    ///
    /// Returns [`BodyError::MemoryFull`] when this budget has no room. The other reservation is released all the same.
    pub(crate) fn transfer(
        &self,
        held: OwnedSemaphorePermit,
    ) -> Result<OwnedSemaphorePermit, BodyError> {
        let here = self.kib(held.num_permits());
        drop(held);
        here
    }

    /// Reads a body as [`BodyMemory::read_body`] does, for an authenticated sender. A refused body is drained within a time
    /// limit.
    pub(crate) async fn read_or_drain(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
        most_bytes: usize,
    ) -> Result<BufferedBody, BodyError> {
        let read = self.read_body(headers, body, most_bytes).await;
        // A sender with `Expect: 100-continue` sees the refusal before sending the body.
        if read.is_err() && !headers.contains_key(EXPECT) {
            drop(timeout(DRAIN_TIMEOUT, drain(body)).await);
        }
        read
    }

    /// Reads a whole body of at most `most_bytes`.
    ///
    /// # Errors
    ///
    /// Fails when the body is too large or compressed, the memory is in use, or the connection breaks off.
    pub(crate) async fn read_body(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
        most_bytes: usize,
    ) -> Result<BufferedBody, BodyError> {
        let packed = headers.get(CONTENT_ENCODING);
        if packed.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(BodyError::Compressed);
        }
        let said = headers
            .get(CONTENT_LENGTH)
            .and_then(|one| one.to_str().ok());
        let said: Option<u64> = said.and_then(|one| one.parse().ok());
        let most = u64::try_from(most_bytes).unwrap_or(u64::MAX);
        if said.is_some_and(|said| said > most) || body.size_hint().lower() > most {
            return Err(BodyError::TooLarge);
        }
        let mut held = self.kib(1)?;
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| BodyError::Incomplete)?;
            let chunk = frame.into_data().unwrap_or_default();
            if bytes.len() + chunk.len() > most_bytes {
                return Err(BodyError::TooLarge);
            }
            // The total size counts, not the number of chunks.
            let wanted = (bytes.len() + chunk.len()).div_ceil(1024);
            let more = wanted.saturating_sub(held.num_permits());
            held.merge(self.kib(more)?);
            bytes.extend_from_slice(&chunk);
        }
        Ok((bytes, held))
    }
}

/// Reads and discards the rest of a body, within limits.
async fn drain(body: &mut Body) {
    let mut left = MAX_DRAINED_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, |data| data.len());
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
