//! Bodies, read within bounds: each has one, and so have all of one kind together.
//!
//! Memory is asked for as bytes arrive, not as a header promises them, so that nobody reserves what it does not send. It
//! stays reserved as long as whoever reads them holds on to it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Most bytes of a body that is not taken which are read all the same, and for how long: many a sender does not read why it
/// is refused before all is sent, and would only see the connection end.
const UNWANTED_BYTES: usize = 20 << 20;
const UNWANTED: Duration = Duration::from_secs(2);

/// A body, and the memory that it takes.
pub(crate) type Whole = (Vec<u8>, OwnedSemaphorePermit);

/// Why a body is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    /// The body is packed.
    #[error("content-encoding is not taken; send the body as it is")]
    Packed,
    /// The body is too large.
    #[error("the body is too large; send fewer alerts at once")]
    TooLarge,
    /// The connection broke off.
    #[error("the body did not come whole")]
    Incomplete,
    /// Too much at once.
    #[error("too much is coming in at once; send it again later")]
    Full,
}

impl Unread {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Packed => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::BAD_REQUEST,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The memory of all bodies of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Memory(Arc<Semaphore>);

impl Memory {
    pub(crate) fn of_kib(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    fn kib(&self, kib: usize) -> Result<OwnedSemaphorePermit, Unread> {
        let kib = u32::try_from(kib).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.0).try_acquire_many_owned(kib);
        permit.map_err(|_| Unread::Full)
    }

    /// As much as is held of another memory, which is free then.
    ///
    /// # Errors
    ///
    /// [`Unread::Full`].
    pub(crate) fn instead(
        &self,
        held: OwnedSemaphorePermit,
    ) -> Result<OwnedSemaphorePermit, Unread> {
        let here = self.kib(held.num_permits());
        drop(held);
        here
    }

    /// The same of whoever proved to be one of ours: what is not taken is read to its end, if that comes soon.
    ///
    /// # Errors
    ///
    /// As [`Memory::read`].
    pub(crate) async fn read_of_ours(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
        most_bytes: usize,
    ) -> Result<Whole, Unread> {
        let read = self.read(headers, body, most_bytes).await;
        // Whoever asks first whether to send it hears no.
        if read.is_err() && !headers.contains_key(EXPECT) {
            drop(timeout(UNWANTED, drain(body)).await);
        }
        read
    }

    /// Reads a body of at most this many bytes whole.
    ///
    /// # Errors
    ///
    /// When it is too large, too much is under way, or it breaks off.
    pub(crate) async fn read(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
        most_bytes: usize,
    ) -> Result<Whole, Unread> {
        let packed = headers.get(CONTENT_ENCODING);
        if packed.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(Unread::Packed);
        }
        let said = headers
            .get(CONTENT_LENGTH)
            .and_then(|one| one.to_str().ok());
        let said: Option<u64> = said.and_then(|one| one.parse().ok());
        let most = u64::try_from(most_bytes).unwrap_or(u64::MAX);
        if said.is_some_and(|said| said > most) || body.size_hint().lower() > most {
            return Err(Unread::TooLarge);
        }
        let mut held = self.kib(1)?;
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Unread::Incomplete)?;
            let chunk = frame.into_data().unwrap_or_default();
            if bytes.len() + chunk.len() > most_bytes {
                return Err(Unread::TooLarge);
            }
            // By what there is, not by how many pieces it comes in.
            let wanted = (bytes.len() + chunk.len()).div_ceil(1024);
            let more = wanted.saturating_sub(held.num_permits());
            held.merge(self.kib(more)?);
            bytes.extend_from_slice(&chunk);
        }
        Ok((bytes, held))
    }
}

/// Reads what is left of a body, within bounds, and keeps none of it.
async fn drain(body: &mut Body) {
    let mut left = UNWANTED_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, |data| data.len());
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
