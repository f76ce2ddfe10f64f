//! Unwraps findings from the envelopes of transports.
//!
//! Envelopes are SNS, EventBridge, Pub/Sub push, CloudEvents, those of log forwarders and JSON in a string, nested to
//! depth three, with lists of findings at any level. The remainder of each envelope is kept in [`Wrappers`]. No address in an envelope is
//! called. Signatures are checked at intake, not here.

mod cloudevents;
mod eventbridge;
mod forwarders;
mod json_text;
mod list;
mod offload;
mod pubsub;
mod sns;
mod wrappers;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

pub(crate) use list::list_elements;
pub(crate) use wrappers::Wrappers;

use crate::decode::{DecodedDocument, decode};
use crate::error::MAX_ENVELOPES;
use crate::feed::{self, GenericFeed};
use crate::{ContentFlag, ReadError, TraceContext};

/// Maximum depth of nested lists. Nested lists can hide a finding just as envelopes can.
const MAX_LISTS: usize = 4;

/// An unwrapped finding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Payload {
    /// JSON pointer in the message; it passes through strings that hold JSON.
    pub(crate) path: String,
    pub(crate) value: Value,
    /// Flags of decoding, relative to the finding.
    pub(crate) flags: Vec<ContentFlag>,
    /// The trace context of the finding's own envelope.
    pub(crate) trace: Option<TraceContext>,
    /// The wrappers of the finding.
    pub(crate) wrappers: Wrappers,
}

/// A part of the message that could not be unwrapped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnwrapFailure {
    pub(crate) path: String,
    pub(crate) value: Value,
    pub(crate) error: ReadError,
}

/// All findings of a document.
#[derive(Debug, Default)]
pub(crate) struct UnwrappedMessage {
    pub(crate) items: Vec<Result<Payload, Box<UnwrapFailure>>>,
    pub(crate) envelopes: Vec<&'static str>,
    /// True if the document is or holds a list. The parts of a list succeed or fail separately.
    pub(crate) is_list: bool,
}

enum EnvelopeContent<'a> {
    /// JSON under this key.
    Inline(&'static str),
    /// JSON in a string under this path.
    Text(&'static str, &'a str),
    /// JSON in base64 under this path.
    Base64(&'static str, &'a str),
}

/// A recognised envelope.
struct Envelope<'a> {
    name: &'static str,
    content: EnvelopeContent<'a>,
    /// The fields of the envelope format itself. A feed cannot be recognised by one of them.
    fields: &'static [&'static str],
}

/// Removes all envelopes and opens all lists; `depth` envelopes were removed before.
///
/// A finding of a built-in feed or of one of `feeds` is not opened further. Otherwise an attacker could lose the
/// finding by naming one of its fields like an envelope or a list.
///
/// # Errors
/// Returns only errors of the whole message. An error of one part takes that part's place among the items.
pub(crate) fn unwrap(
    item: Payload,
    depth: usize,
    feeds: &[GenericFeed],
) -> Result<UnwrappedMessage, ReadError> {
    let mut unwrapped = UnwrappedMessage::default();
    open(item, (depth, 0), feeds, &mut unwrapped)?;
    Ok(unwrapped)
}

/// Opens the content below this many envelopes and lists.
fn open(
    item: Payload,
    (depth, lists): (usize, usize),
    feeds: &[GenericFeed],
    out: &mut UnwrappedMessage,
) -> Result<(), ReadError> {
    if feed::is_built_in(&item.value) {
        out.items.push(Ok(item));
        return Ok(());
    }
    if let Some(error) = offload::unresolved_pointer(&item.value) {
        return Err(error.under(&item.path));
    }
    let claimed = |beside: &[&str]| {
        let mut feeds = feeds.iter();
        feeds.any(|feed| feed.is_own_finding(&item.value, &item.wrappers, beside))
    };
    if let Some(place) = list::elements(&item.value).filter(|_| !claimed(&[])) {
        return split(item, place, (depth, lists), feeds, out);
    }
    let envelope = recognise(&item.value).map_err(|error| error.under(&item.path))?;
    // A feed may match on a field of an envelope. Then the envelope's content decides.
    let is_finding = |envelope: &Envelope<'_>| {
        claimed(envelope.fields) || claimed(&[]) && !holds_finding(&item, envelope, feeds)
    };
    let Some(envelope) = envelope.filter(|envelope| !is_finding(envelope)) else {
        let place = list::find_list(&item.value, feeds).filter(|_| !claimed(&[]));
        if let Some(place) = place {
            return split(item, place, (depth, lists), feeds, out);
        }
        out.items.push(Ok(item));
        return Ok(());
    };
    if depth >= MAX_ENVELOPES {
        return Err(ReadError::TooNested {
            path: item.path,
            limit: MAX_ENVELOPES,
        });
    }
    if !out.envelopes.contains(&envelope.name) {
        out.envelopes.push(envelope.name);
    }
    let (name, decoded) = (envelope.name, decode_content(&item, &envelope)?);
    open(
        into_payload(item, name, decoded),
        (depth + 1, lists),
        feeds,
        out,
    )
}

/// Returns whether an envelope holds a readable finding, or another envelope or list that may hold one.
fn holds_finding(item: &Payload, envelope: &Envelope<'_>, feeds: &[GenericFeed]) -> bool {
    let Ok((path, decoded)) = decode_content(item, envelope) else {
        return false;
    };
    let decoded = decoded.map(|decoded| decoded.value);
    let inner = decoded.as_ref().or_else(|| item.value.pointer(&path));
    let Some(inner) = inner else { return false };
    let mut wrappers = item.wrappers.clone();
    wrappers.push(item.value.clone());
    feed::recognises(inner, &wrappers, feeds)
        || list::is_filled(inner)
        || list::find_list(inner, feeds).is_some()
        || matches!(recognise(inner), Ok(Some(_)))
}

/// Opens each element. The errors of failed elements are kept beside the others.
fn split(
    item: Payload,
    place: list::ListLocation,
    (depth, lists): (usize, usize),
    feeds: &[GenericFeed],
    out: &mut UnwrappedMessage,
) -> Result<(), ReadError> {
    out.is_list = true;
    let Payload {
        path,
        mut value,
        flags,
        trace,
        mut wrappers,
    } = item;
    if lists >= MAX_LISTS {
        return Err(ReadError::TooNested {
            path,
            limit: MAX_LISTS,
        });
    }
    let is_bare = list::is_bare(&value);
    let known = out.items.len();
    let elements = list::take_elements(&mut value, place);
    let is_readable = |element: &Value| {
        element.is_object() || element.is_array() || json_text::is_document(element)
    };
    if !elements.is_empty() && !elements.iter().any(|(_, element)| is_readable(element)) {
        return Err(ReadError::UnknownShape {
            path,
            found: "a list without any object".to_owned(),
            known: feed::names(&[]),
        });
    }
    if value.is_object() {
        wrappers.push(value);
    }
    for (relative, element) in elements {
        let element = Payload {
            path: format!("{path}{relative}"),
            flags: flags_under(&flags, &relative),
            value: element,
            trace: trace.clone(),
            wrappers: wrappers.clone(),
        };
        let (at, copy) = (element.path.clone(), element.value.clone());
        if let Err(error) = open(element, (depth, lists + 1), feeds, out) {
            out.items.push(Err(Box::new(UnwrapFailure {
                path: at,
                value: copy,
                error,
            })));
        }
    }
    // Only an API response may hold an empty list. In other messages the fields beside the list must not get lost.
    if !is_bare && out.items.len() == known {
        return Err(ReadError::UnknownShape {
            path,
            found: "an object with fields beside a list of nothing".to_owned(),
            known: feed::names(feeds),
        });
    }
    Ok(())
}

fn recognise(value: &Value) -> Result<Option<Envelope<'_>>, ReadError> {
    if let Some(envelope) = sns::recognise(value)? {
        return Ok(Some(envelope));
    }
    if let Some(envelope) = cloudevents::recognise(value)? {
        return Ok(Some(envelope));
    }
    if let Some(envelope) = pubsub::recognise(value)? {
        return Ok(Some(envelope));
    }
    Ok(eventbridge::recognise(value)
        .or_else(|| forwarders::recognise(value))
        .or_else(|| json_text::recognise(value)))
}

/// Returns the content of an envelope with its pointer. Content that is JSON already needs no decoding.
fn decode_content(
    item: &Payload,
    envelope: &Envelope<'_>,
) -> Result<(String, Option<DecodedDocument>), ReadError> {
    let (path, decoded) = match envelope.content {
        EnvelopeContent::Inline(key) => return Ok((format!("/{key}"), None)),
        EnvelopeContent::Text(path, text) => (path, text_json(path, text.as_bytes())),
        EnvelopeContent::Base64(path, text) => {
            let bytes = base64_bytes(text).ok_or_else(|| ReadError::Envelope {
                envelope: envelope.name,
                path: path.to_owned(),
                expected: "JSON in base64",
                found: "text that is no base64".to_owned(),
            });
            (path, bytes.and_then(|bytes| text_json(path, &bytes)))
        }
    };
    let decoded = decoded.map_err(|error| error.under(&item.path))?;
    Ok((path.to_owned(), Some(decoded)))
}

/// Takes the content out of an envelope. The envelope becomes a wrapper of the finding.
fn into_payload(
    item: Payload,
    envelope: &str,
    (relative, decoded): (String, Option<DecodedDocument>),
) -> Payload {
    let Payload {
        path,
        mut value,
        flags,
        trace,
        mut wrappers,
    } = item;
    let trace = cloudevents::trace(&value, envelope).or(trace);
    let content = value.pointer_mut(&relative).map(Value::take);
    if value.is_object() {
        wrappers.push(value);
    }
    let decoded = decoded.unwrap_or_else(|| DecodedDocument {
        value: content.unwrap_or_default(),
        flags: flags_under(&flags, &relative),
    });
    Payload {
        path: format!("{path}{relative}"),
        value: decoded.value,
        flags: decoded.flags,
        trace,
        wrappers,
    }
}

fn text_json(path: &str, bytes: &[u8]) -> Result<DecodedDocument, ReadError> {
    decode(bytes).map_err(|error| match error {
        ReadError::Empty => ReadError::NotJson {
            path: path.to_owned(),
            line: 1,
            column: 1,
            expected: "a JSON value",
            found: "an empty string".to_owned(),
        },
        other => other.under(path),
    })
}

/// Decodes base64 in the standard or the URL alphabet, with or without padding and line breaks.
fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let plain: String = text
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .map(|character| match character {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&base64::alphabet::STANDARD, config)
        .decode(plain)
        .ok()
}

/// Returns the flags at or under a pointer, relative to it. Flags of the whole document stay with every part.
fn flags_under(flags: &[ContentFlag], prefix: &str) -> Vec<ContentFlag> {
    let relative = |path: &str| match path.strip_prefix(prefix) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Some(rest.to_owned()),
        _ if path.is_empty() || prefix.starts_with(path) => Some(String::new()),
        _ => None,
    };
    flags
        .iter()
        .filter_map(|flag| match flag {
            ContentFlag::Truncated { path } => {
                relative(path).map(|path| ContentFlag::Truncated { path })
            }
            ContentFlag::Replaced { path } => {
                relative(path).map(|path| ContentFlag::Replaced { path })
            }
            ContentFlag::DuplicateKey { path } => {
                relative(path).map(|path| ContentFlag::DuplicateKey { path })
            }
            ContentFlag::Instructions { path } => {
                relative(path).map(|path| ContentFlag::Instructions { path })
            }
            other => Some(other.clone()),
        })
        .collect()
}

#[cfg(test)]
mod tests;
