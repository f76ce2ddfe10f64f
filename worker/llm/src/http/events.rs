//! Parses server-sent events (WHATWG HTML §9.2), as far as model providers use them. Only the data is read, because it
//! contains its own type.

use std::borrow::Cow;
use std::time::Duration;

use crate::chat::{ChatError, ChatFailure, Usage};
use memchr::memchr2;
use tokio::time::Instant;

use super::{ErrorBuilder, HttpReply, MAX_ANSWER_BYTES, MAX_EVENTS_BYTES};

/// Timeout of the first piece, longer than any request may take.
const FIRST_EVENT_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The events of an answer, in order.
pub(crate) struct EventStream {
    reply: HttpReply,
    lines: LineBuffer,
    idle: Duration,
    has_begun: bool,
    answer_bytes: usize,
}

impl EventStream {
    pub(super) fn new(reply: HttpReply, idle: Duration) -> Self {
        Self {
            reply,
            lines: LineBuffer::default(),
            idle,
            has_begun: false,
            answer_bytes: 0,
        }
    }

    /// Returns the error factory of this answer.
    pub(crate) fn errors(&self) -> &ErrorBuilder {
        &self.reply.errors
    }

    /// Returns the data of the next event with its lines joined, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ChatError> {
        loop {
            if let Some(event) = self.lines.next_event() {
                return Ok(Some(event));
            }
            // A model may think for minutes before the first piece, so only the request's own timeout applies.
            let idle = if self.has_begun {
                self.idle
            } else {
                FIRST_EVENT_TIMEOUT
            };
            let until = Instant::now() + idle;
            let more = self
                .reply
                .read_chunk(self.lines.input_buffer(), until, MAX_EVENTS_BYTES);
            if !more.await? {
                return Ok(None);
            }
            self.reply
                .check_size(self.lines.pending_bytes(), MAX_ANSWER_BYTES)?;
            self.has_begun = true;
        }
    }

    /// Records that the answer grows by this many bytes.
    ///
    /// # Errors
    ///
    /// Returns an error when the answer is too long.
    pub(crate) fn count_bytes(&mut self, bytes: u64) -> Result<(), ChatError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.answer_bytes = self.answer_bytes.saturating_add(bytes);
        self.reply.check_size(self.answer_bytes, MAX_ANSWER_BYTES)
    }

    /// Returns an error in the middle of the answer with its usage: as reported, and at least as much as arrived.
    pub(crate) fn charge_partial_answer(&self, error: ChatError, told: Usage) -> ChatError {
        self.reply
            .charge_partial_answer(error, told, self.answer_bytes)
    }
}

/// Returns whether an answer broke off because of its connection.
pub(crate) fn is_interrupted(error: &ChatError) -> bool {
    matches!(
        error.failure,
        ChatFailure::Unreachable | ChatFailure::Timeout
    )
}

/// Buffer of received bytes.
#[derive(Default)]
struct LineBuffer {
    bytes: Vec<u8>,
    /// Position after the last line that was taken.
    consumed: usize,
    /// Position up to which there is no line end, so that slow input is not searched again.
    searched: usize,
    partial_event: PartialEvent,
}

impl LineBuffer {
    /// Returns the buffer for the next bytes.
    fn input_buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.consumed);
        self.searched = self.searched.saturating_sub(self.consumed);
        self.consumed = 0;
        &mut self.bytes
    }

    /// Returns the number of bytes that are not yet a whole event.
    fn pending_bytes(&self) -> usize {
        self.bytes.len() - self.consumed + self.partial_event.0.as_ref().map_or(0, String::len)
    }

    /// Returns the data of the next whole event in the buffer.
    fn next_event(&mut self) -> Option<String> {
        loop {
            let from = self.searched.max(self.consumed);
            let Some(end) = memchr2(b'\n', b'\r', self.bytes.get(from..)?).map(|end| from + end)
            else {
                self.searched = self.bytes.len();
                return None;
            };
            let mut next = end + 1;
            if self.bytes.get(end) == Some(&b'\r') {
                match self.bytes.get(next) {
                    Some(b'\n') => next += 1,
                    Some(_) => {}
                    // The `\n` that belongs to it may still come.
                    None => {
                        self.searched = end;
                        return None;
                    }
                }
            }
            let event = self
                .partial_event
                .push_line(&decode_utf8(self.bytes.get(self.consumed..end)?));
            self.consumed = next;
            if event.is_some() {
                return event;
            }
        }
    }
}

/// Decodes UTF-8 quickly; invalid input is replaced character by character.
fn decode_utf8(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The data of an incomplete event. An event without data is ignored.
#[derive(Default)]
struct PartialEvent(Option<String>);

impl PartialEvent {
    /// Adds a line and returns the whole data after the last one.
    fn push_line(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            return self.0.take();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.0 {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.0 = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = LineBuffer::default();
        let mut events = Vec::new();
        for chunk in chunks {
            lines.input_buffer().extend_from_slice(chunk);
            events.extend(std::iter::from_fn(|| lines.next_event()));
        }
        events
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let text = ": ping\n\nevent: a\ndata: {\"x\":\ndata: 1}\n\ndata:two\r\n\r\nid: 3\nretry: 1\n\ndata: cut";
        assert_eq!(read(&[text.as_bytes()]), ["{\"x\":\n1}", "two"]);
    }

    proptest! {
        #[test]
        fn where_the_stream_is_cut_does_not_matter(cuts in proptest::collection::vec(0_usize..60, 0..6)) {
            let text = "event: a\r\ndata: ä eins\r\n\r\ndata: zwei\n\ndata: drei\rdata: vier\r\r\n".as_bytes();
            let whole = read(&[text]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&text[from..cut]);
                from = cut;
            }
            chunks.push(&text[from..]);
            prop_assert_eq!(read(&chunks), whole);
        }
    }
}
