//! Reads an incoming answer: its head, and a body of limited size.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::chat::{ChatError, ChatFailure, Usage};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::{ErrorBuilder, EventStream, MAX_ANSWER_BYTES, retry_after};
use crate::answer::charge_partial_answer;

/// An answer whose body is not yet read.
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Factory for its errors.
    pub(crate) errors: ErrorBuilder,
    response: Response,
    deadline: Instant,
    received_bytes: usize,
    max_output_tokens: u32,
}

impl HttpReply {
    pub(super) fn new(
        mut response: Response,
        until: Instant,
        errors: ErrorBuilder,
        most_output: u32,
    ) -> Self {
        Self {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            errors,
            response,
            deadline: until,
            received_bytes: 0,
            max_output_tokens: most_output,
        }
    }

    /// Returns whether the body is a stream of events.
    pub(crate) fn is_event_stream(&self) -> bool {
        self.headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.trim_start().starts_with("text/event-stream"))
    }

    /// Returns the time that the provider wants to be left alone.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers)
    }

    /// Reads the body as events with `read`; at most `idle` may pass between two. The events arrive in many pieces
    /// and are read in a separate task. Otherwise each piece would wake all layers around the request.
    pub(crate) async fn read_events<T, F>(
        self,
        idle: Duration,
        read: impl FnOnce(EventStream) -> F,
    ) -> Result<T, ChatError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ChatError>> + Send + 'static,
    {
        let errors = self.errors.clone();
        let mut reading = JoinSet::new();
        reading.spawn(read(EventStream::new(self, idle)).in_current_span());
        match reading.join_next().await {
            Some(Ok(read)) => read,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Err(errors.build(ChatFailure::Unreachable, "reading the answer ended early")),
        }
    }

    /// Reads the whole body.
    pub(crate) async fn read_body(&mut self) -> Result<Vec<u8>, ChatError> {
        let mut whole = Vec::new();
        loop {
            match self
                .read_chunk(&mut whole, self.deadline, MAX_ANSWER_BYTES)
                .await
            {
                Ok(true) => {}
                Ok(false) => return Ok(whole),
                Err(error) if self.status.is_success() => {
                    // Some servers send spaces until there is an answer.
                    let came = whole.trim_ascii().len();
                    return Err(self.charge_partial_answer(error, Usage::default(), came));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the error of an answer of which this many bytes arrived, with its usage.
    pub(super) fn charge_partial_answer(
        &self,
        error: ChatError,
        told: Usage,
        came: usize,
    ) -> ChatError {
        charge_partial_answer(error, told, came, self.max_output_tokens)
    }

    /// Checks the size.
    ///
    /// # Errors
    ///
    /// Returns an error when there are more bytes than allowed.
    pub(super) fn check_size(&self, bytes: usize, most: usize) -> Result<(), ChatError> {
        if bytes <= most {
            return Ok(());
        }
        let words = format!("the answer is longer than {most} bytes");
        Err(self.errors.build(ChatFailure::Malformed, &words))
    }

    /// Appends the next piece of the body, within the size limit and before `until`. Returns `false` at the end.
    pub(super) async fn read_chunk(
        &mut self,
        bytes: &mut Vec<u8>,
        until: Instant,
        most: usize,
    ) -> Result<bool, ChatError> {
        let until = until.min(self.deadline);
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
                return Err(self.errors.build(
                    ChatFailure::Timeout,
                    "the answer began and then stood still",
                ));
            }
            Ok(Err(error)) => return Err(self.errors.transport_error(&error)),
            Ok(Ok(None)) => return Ok(false),
            Ok(Ok(Some(chunk))) => chunk,
        };
        self.received_bytes += chunk.len();
        self.check_size(self.received_bytes, most)?;
        bytes.extend_from_slice(&chunk);
        Ok(true)
    }
}
