//! Reads the bytes of a message into normalised alerts.
//!
//! The steps are decode, unwrap, recognise and read. One bad finding never affects its neighbours: in a list or in
//! lines, unreadable parts are returned beside the alerts, with their bytes. Only a message with a single finding fails
//! as a whole.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::decode::{DecodedDocument, decode};
use crate::envelope::{Payload, Wrappers, unwrap};
use crate::error::MAX_MESSAGE_BYTES;
use crate::feed::{self, GenericFeed};
use crate::{Alert, ReadError, TraceContext};

/// Maximum number of unreadable findings of a message that are returned separately. Further ones come as one list.
const MAX_REJECTED: usize = 100;

/// Options for reading messages.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Feeds of the configuration, tried in order before the built-in ones.
    pub generic: Vec<GenericFeed>,
    /// Attributes of the message. `ce-specversion` marks a CloudEvent in binary mode, whose data is the message's
    /// bytes.
    pub attributes: BTreeMap<String, String>,
    /// The only feeds that the message may carry; `None` for all.
    pub feeds: Option<Vec<String>>,
}

/// The alerts of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageContents {
    /// The alerts, in the order of the message. When `rejected` is empty too, the message held nothing.
    pub alerts: Vec<Alert>,
    /// Parts that could not be read, beside alerts that could.
    pub rejected: Vec<RejectedFinding>,
    /// The envelopes that were removed, outermost first, without duplicates.
    pub envelopes: Vec<&'static str>,
}

/// A part of a message that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedFinding {
    /// JSON pointer in the message; it passes through strings that hold JSON. For JSON lines the first segment is the
    /// line, from 0.
    pub path: String,
    /// The part: a line as it was sent, or the finding as JSON.
    pub bytes: Vec<u8>,
    /// The error.
    pub error: ReadError,
}

/// Reads a message: one alert, a list, or one alert per line, in any known envelopes.
///
/// # Errors
/// Returns [`ReadError`] when no part of the message can be read. Unreadable parts beside other findings are in
/// [`MessageContents::rejected`].
pub fn read_message(bytes: &[u8], options: &ReadOptions) -> Result<MessageContents, ReadError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(ReadError::TooLarge {
            bytes: bytes.len(),
            limit: MAX_MESSAGE_BYTES,
        });
    }
    let mut reading = MessageReader {
        options,
        batch: MessageContents::default(),
        overflow: Vec::new(),
    };
    match decode(bytes) {
        Ok(document) => reading.read_document(document, String::new(), false)?,
        Err(error) => match json_lines(bytes) {
            Some(lines) => reading.read_lines(lines),
            None => return Err(error),
        },
    }
    Ok(reading.finish())
}

struct MessageReader<'a> {
    options: &'a ReadOptions,
    batch: MessageContents,
    /// Unreadable findings beyond [`MAX_REJECTED`].
    overflow: Vec<(String, Value, ReadError)>,
}

impl MessageReader<'_> {
    fn read_document(
        &mut self,
        document: DecodedDocument,
        path: String,
        beside_others: bool,
    ) -> Result<(), ReadError> {
        let mut wrappers = Wrappers::default();
        let event = binary_event(&self.options.attributes);
        let depth = usize::from(event.is_some());
        if let Some(event) = event {
            self.record_envelope("cloudevents");
            wrappers.push(event);
        }
        let item = Payload {
            path,
            value: document.value,
            flags: document.flags,
            trace: None,
            wrappers,
        };
        let unwrapped = unwrap(item, depth, &self.options.generic)?;
        for name in unwrapped.envelopes {
            self.record_envelope(name);
        }
        let single = !unwrapped.is_list && !beside_others;
        for item in unwrapped.items {
            match item {
                Ok(item) => self.read_item(item, single)?,
                Err(failed) if single => return Err(failed.error),
                Err(failed) => self.reject(failed.path, failed.value, failed.error),
            }
        }
        Ok(())
    }

    fn read_item(&mut self, item: Payload, single: bool) -> Result<(), ReadError> {
        let Payload {
            path,
            value,
            flags,
            trace,
            wrappers,
        } = item;
        let read = feed::read_finding(&value, &wrappers, self.options).and_then(|draft| {
            self.check_feed_allowed(&draft.feed)?;
            Ok(draft)
        });
        match read {
            Ok(draft) => {
                let mut alert = draft.finish(value, flags);
                alert.trace = trace;
                self.batch.alerts.push(alert);
            }
            Err(error) if single => return Err(error.under(&path)),
            Err(error) => {
                let error = error.under(&path);
                self.reject(path, value, error);
            }
        }
        Ok(())
    }

    fn check_feed_allowed(&self, feed: &str) -> Result<(), ReadError> {
        match &self.options.feeds {
            Some(feeds) if !feeds.iter().any(|name| name == feed) => {
                Err(ReadError::FeedNotAllowed {
                    feed: feed.to_owned(),
                    path: String::new(),
                    allowed: feeds.join(", "),
                })
            }
            _ => Ok(()),
        }
    }

    fn read_lines(&mut self, lines: Vec<(usize, &[u8])>) {
        for (number, line) in lines {
            let path = format!("/{number}");
            let read = decode(line)
                .map_err(|error| error.under(&path))
                .and_then(|document| self.read_document(document, path.clone(), true));
            if let Err(error) = read {
                self.batch.rejected.push(RejectedFinding {
                    path,
                    bytes: line.to_vec(),
                    error,
                });
            }
        }
    }

    fn record_envelope(&mut self, name: &'static str) {
        if !self.batch.envelopes.contains(&name) {
            self.batch.envelopes.push(name);
        }
    }

    fn reject(&mut self, path: String, value: Value, error: ReadError) {
        if self.batch.rejected.len() >= MAX_REJECTED {
            self.overflow.push((path, value, error));
            return;
        }
        self.batch.rejected.push(RejectedFinding {
            path,
            bytes: value.to_string().into_bytes(),
            error,
        });
    }

    /// Combines the overflow into one dead letter that keeps each finding's bytes.
    ///
    /// Findings without a trace context of their own take that of their message.
    fn finish(mut self) -> MessageContents {
        if let Some(trace) = TraceContext::from_attributes(&self.options.attributes) {
            for alert in &mut self.batch.alerts {
                alert.trace.get_or_insert_with(|| trace.clone());
            }
        }
        let mut overflow = self.overflow.into_iter();
        if let Some((path, first, error)) = overflow.next() {
            let mut values = vec![first];
            values.extend(overflow.map(|(_, value, _)| value));
            self.batch.rejected.push(RejectedFinding {
                path,
                bytes: Value::Array(values).to_string().into_bytes(),
                error,
            });
        }
        self.batch
    }
}

/// Returns the fields of a CloudEvent in binary mode, which are attributes of its message, or `None` for other
/// messages.
fn binary_event(attributes: &BTreeMap<String, String>) -> Option<Value> {
    let fields: serde_json::Map<String, Value> = attributes
        .iter()
        .filter_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let field = name.strip_prefix("ce-").or(name.strip_prefix("ce_"))?;
            Some((field.to_owned(), value.as_str().into()))
        })
        .collect();
    fields
        .contains_key("specversion")
        .then_some(Value::Object(fields))
}

/// Returns the lines of a JSON lines message with their numbers, or `None` for another message.
///
/// Each line that is not empty must begin as an object, and at least one must be complete. Otherwise the bytes are
/// one broken document, whose own error says more.
fn json_lines(bytes: &[u8]) -> Option<Vec<(usize, &[u8])>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines: Vec<(usize, &[u8])> = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let all_objects = lines.iter().all(|(_, line)| line.starts_with(b"{"));
    let is_lines =
        lines.len() > 1 && all_objects && lines.iter().any(|(_, line)| decode(line).is_ok());
    is_lines.then_some(lines)
}

#[cfg(test)]
mod tests;
