//! An answer as it comes in: its head, and a body of which at most so much is read.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use nightshift_analyst::chat::{ChatError, Failure};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{Errors, Events, MAX_ANSWER_BYTES, retry_after};

/// An answer whose body is still to come.
pub(crate) struct Reply {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Makes its errors.
    pub(crate) errors: Errors,
    response: Response,
    until: Instant,
    taken: usize,
}

impl Reply {
    pub(super) fn new(mut response: Response, until: Instant, errors: Errors) -> Self {
        Self {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            errors,
            response,
            until,
            taken: 0,
        }
    }

    /// Whether the body is a stream of events.
    pub(crate) fn is_events(&self) -> bool {
        self.headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.trim_start().starts_with("text/event-stream"))
    }

    /// How long the provider wants to be left alone.
    pub(crate) fn after(&self) -> Option<Duration> {
        retry_after(&self.headers)
    }

    /// What `read` makes of the body as events, between which at most `idle` may pass. They come in many pieces, and are
    /// read in a task of their own: else each would wake all that stands around a request.
    pub(crate) async fn read<T, F>(
        self,
        idle: Duration,
        read: impl FnOnce(Events) -> F,
    ) -> Result<T, ChatError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ChatError>> + Send + 'static,
    {
        let errors = self.errors.clone();
        let mut reading = JoinSet::new();
        reading.spawn(read(Events::new(self, idle)).in_current_span());
        match reading.join_next().await {
            Some(Ok(read)) => read,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Err(errors.make(Failure::Unreachable, "reading the answer ended early")),
        }
    }

    /// The whole body.
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, ChatError> {
        let mut whole = Vec::new();
        while self.more(&mut whole, self.until).await? {}
        Ok(whole)
    }

    /// Adds the next piece of the body, at the latest at `until`; false at its end.
    pub(super) async fn more(
        &mut self,
        bytes: &mut Vec<u8>,
        until: Instant,
    ) -> Result<bool, ChatError> {
        let until = until.min(self.until);
        let chunk = {
            let mut chunk = pin!(self.response.chunk());
            // Most pieces are there already: a timer for each would cost more than the piece.
            match poll_fn(|context| Poll::Ready(chunk.as_mut().poll(context))).await {
                Poll::Ready(chunk) => Ok(chunk),
                Poll::Pending => timeout_at(until, chunk).await,
            }
        };
        let chunk = match chunk {
            Err(_) => {
                return Err(self
                    .errors
                    .make(Failure::Timeout, "the answer began and then stood still"));
            }
            Ok(Err(error)) => return Err(self.errors.transport(&error)),
            Ok(Ok(None)) => return Ok(false),
            Ok(Ok(Some(chunk))) => chunk,
        };
        self.taken += chunk.len();
        if self.taken > MAX_ANSWER_BYTES {
            let words = format!("the answer is longer than {MAX_ANSWER_BYTES} bytes");
            return Err(self.errors.make(Failure::Malformed, &words));
        }
        bytes.extend_from_slice(&chunk);
        Ok(true)
    }
}
