//! Server-sent events (WHATWG HTML §9.2), as far as model providers use them: `event`, `data`, comments.

use std::time::Duration;

use nightshift_analyst::chat::ChatError;
use tokio::time::Instant;

use super::{Errors, Reply};

/// Longer than any request may take.
const FIRST: Duration = Duration::from_secs(86_400);

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Its name; empty where it has none.
    pub(crate) name: String,
    /// Its data, lines joined.
    pub(crate) data: String,
}

/// The events of an answer, in order.
pub(crate) struct Events {
    reply: Reply,
    lines: Lines,
    idle: Duration,
    begun: bool,
}

impl Events {
    pub(super) fn new(reply: Reply, idle: Duration) -> Self {
        Self {
            reply,
            lines: Lines::default(),
            idle,
            begun: false,
        }
    }

    /// Makes the errors of this answer.
    pub(crate) fn errors(&self) -> &Errors {
        &self.reply.errors
    }

    /// The next event; none at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, ChatError> {
        loop {
            if let Some(event) = self.lines.event() {
                return Ok(Some(event));
            }
            // Before the first piece a model may think for minutes: only the request's own time ends that.
            let idle = if self.begun { self.idle } else { FIRST };
            if !self
                .reply
                .more(self.lines.room(), Instant::now() + idle)
                .await?
            {
                return Ok(None);
            }
            self.begun = true;
        }
    }
}

/// Bytes on their way to becoming events.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Up to here lines were taken.
    read: usize,
    /// Up to here no line ends: what comes slowly is not looked through again and again.
    searched: usize,
    event: Event,
    any: bool,
}

impl Lines {
    /// Where the next bytes go.
    fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.read);
        self.searched = self.searched.saturating_sub(self.read);
        self.read = 0;
        &mut self.bytes
    }

    /// The next whole event of what was pushed.
    fn event(&mut self) -> Option<Event> {
        loop {
            let from = self.searched.max(self.read);
            let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
            let Some(end) = self
                .bytes
                .get(from..)?
                .iter()
                .position(ends)
                .map(|end| from + end)
            else {
                self.searched = self.bytes.len();
                return None;
            };
            let line = String::from_utf8_lossy(self.bytes.get(self.read..end)?).into_owned();
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
            self.read = next;
            if let Some(event) = self.line(&line) {
                return Some(event);
            }
        }
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.any).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.any {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.any = true;
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for chunk in chunks {
            lines.room().extend_from_slice(chunk);
            while let Some(event) = lines.event() {
                events.push((event.name, event.data));
            }
        }
        events
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let text = ": ping\n\nevent: a\ndata: {\"x\":\ndata: 1}\n\ndata:two\r\n\r\nid: 3\nretry: 1\n\ndata: cut";
        assert_eq!(
            read(&[text.as_bytes()]),
            [
                ("a".to_owned(), "{\"x\":\n1}".to_owned()),
                (String::new(), "two".to_owned())
            ]
        );
    }

    proptest! {
        #[test]
        fn where_the_stream_is_cut_does_not_matter(cuts in proptest::collection::vec(0_usize..60, 0..6)) {
            let text = "event: ä\r\ndata: eins\r\n\r\ndata: zwei\n\ndata: drei\rdata: vier\r\r\n".as_bytes();
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
