//! An incoming answer: its head, and a body of limited size.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::chat::{ChatError, Failure, Usage};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{Errors, Events, MAX_ANSWER_BYTES, retry_after};
use crate::answer::charged;

/// An answer whose body is not yet read.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Factory for its errors.
    pub(crate) errors: Errors,
    response: Response,
    until: Instant,
    taken: usize,
    most_output: u32,
}

impl Reply {
    pub(super) fn new(
        mut response: Response,
        until: Instant,
        errors: Errors,
        most_output: u32,
    ) -> Self {
        Self {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            errors,
            response,
            until,
            taken: 0,
            most_output,
        }
    }

    /// Returns whether the body is a stream of events.
    pub(crate) fn is_events(&self) -> bool {
        self.headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.trim_start().starts_with("text/event-stream"))
    }

    /// Returns the time that the provider wants to be left alone.
    pub(crate) fn after(&self) -> Option<Duration> {
        retry_after(&self.headers)
    }

    /// Reads the body as events with `read`; at most `idle` may pass between two. The events arrive in many pieces
    /// and are read in a separate task. Otherwise each piece would wake all layers around the request.
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

    /// Reads the whole body.
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, ChatError> {
        let mut whole = Vec::new();
        loop {
            match self.more(&mut whole, self.until, MAX_ANSWER_BYTES).await {
                Ok(true) => {}
                Ok(false) => return Ok(whole),
                Err(error) if self.status.is_success() => {
                    // Some servers send spaces until there is an answer.
                    let came = whole.trim_ascii().len();
                    return Err(self.charged(error, Usage::default(), came));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the error of an answer of which this many bytes arrived, with its usage.
    pub(super) fn charged(&self, error: ChatError, told: Usage, came: usize) -> ChatError {
        charged(error, told, came, self.most_output)
    }

    /// Checks the size.
    ///
    /// # Errors
    ///
    /// Returns an error when there are more bytes than allowed.
    pub(super) fn bounded(&self, bytes: usize, most: usize) -> Result<(), ChatError> {
        if bytes <= most {
            return Ok(());
        }
        let words = format!("the answer is longer than {most} bytes");
        Err(self.errors.make(Failure::Malformed, &words))
    }

    /// Appends the next piece of the body, within the size limit and before `until`. Returns `false` at the end.
    pub(super) async fn more(
        &mut self,
        bytes: &mut Vec<u8>,
        until: Instant,
        most: usize,
    ) -> Result<bool, ChatError> {
        let until = until.min(self.until);
        let chunk = {
            let mut chunk = pin!(self.response.chunk());
            // Most pieces are available already, and a timer for each would cost more than the piece.
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
        self.bounded(self.taken, most)?;
        bytes.extend_from_slice(&chunk);
        Ok(true)
    }
}
