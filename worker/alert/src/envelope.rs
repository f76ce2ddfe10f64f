//! Taking off what transports put around findings.
//!
//! SNS, EventBridge, Pub/Sub push and CloudEvents, nested to depth three, and lists of findings at any level between.
//! Nothing in an envelope is followed: no address is called, no signature is checked here (an intake checks it).

mod cloudevents;
mod eventbridge;
mod list;
mod pubsub;
mod sns;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::decode::{Decoded, decode};
use crate::error::MAX_ENVELOPES;
use crate::feed::GenericFeed;
use crate::{Flag, ReadError, TraceContext};

/// Lists within lists are as much a disguise as envelopes are.
const MAX_LISTS: usize = 4;

/// A finding, unwrapped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// JSON pointer in the message, through strings that hold JSON.
    pub(crate) path: String,
    pub(crate) value: Value,
    /// What decoding noticed, relative to the finding.
    pub(crate) flags: Vec<Flag>,
    /// The trace that its own envelope says it comes from.
    pub(crate) trace: Option<TraceContext>,
}

/// A part of the message that could not be unwrapped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failed {
    pub(crate) path: String,
    pub(crate) value: Value,
    pub(crate) error: ReadError,
}

/// All that was in a document.
#[derive(Debug, Default)]
pub(crate) struct Unwrapped {
    pub(crate) items: Vec<Result<Item, Box<Failed>>>,
    pub(crate) envelopes: Vec<&'static str>,
    /// Whether the document is or holds a list: then its parts stand and fall alone.
    pub(crate) listed: bool,
}

/// What an envelope holds.
enum Content<'a> {
    /// JSON under this key.
    Inline(&'static str),
    /// JSON in a string under this path.
    Text(&'static str, &'a str),
    /// JSON in base64 under this path.
    Base64(&'static str, &'a str),
}

/// An envelope as recognised.
struct Envelope<'a> {
    name: &'static str,
    content: Content<'a>,
    /// The fields that such a message has itself: where they stand, a feed is not told by one of them.
    fields: &'static [&'static str],
}

/// Takes off all envelopes and opens all lists; `depth` envelopes were already taken off.
///
/// A finding of one of `feeds` is opened no further: whoever writes its fields could name one like an envelope or a list,
/// and the finding were gone.
///
/// # Errors
/// Only those of the whole message; a part's error stands in its place among the items.
pub(crate) fn unwrap(
    document: Decoded,
    path: String,
    depth: usize,
    feeds: &[GenericFeed],
) -> Result<Unwrapped, ReadError> {
    let mut unwrapped = Unwrapped::default();
    let item = Item {
        path,
        value: document.value,
        flags: document.flags,
        trace: None,
    };
    open(item, (depth, 0), feeds, &mut unwrapped)?;
    Ok(unwrapped)
}

/// Opens what lies under so many envelopes and lists.
fn open(
    item: Item,
    (depth, lists): (usize, usize),
    feeds: &[GenericFeed],
    out: &mut Unwrapped,
) -> Result<(), ReadError> {
    let claimed = |beside: &[&str]| feeds.iter().any(|feed| feed.claims(&item.value, beside));
    if let Some(found) = list::elements(&item.value).filter(|_| !claimed(&[])) {
        out.listed = true;
        if lists >= MAX_LISTS {
            return Err(ReadError::TooNested {
                path: item.path,
                limit: MAX_LISTS,
            });
        }
        return split(item, found, (depth, lists + 1), feeds, out);
    }
    let envelope = recognise(&item.value).map_err(|error| error.under(&item.path))?;
    let Some(envelope) = envelope.filter(|envelope| !claimed(envelope.fields)) else {
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
    let inner = inner(&item, &envelope)?;
    open(inner, (depth + 1, lists), feeds, out)
}

/// Opens each element; what fails is kept beside the others.
fn split(
    item: Item,
    key: list::Key,
    under: (usize, usize),
    feeds: &[GenericFeed],
    out: &mut Unwrapped,
) -> Result<(), ReadError> {
    let Item {
        path,
        value,
        flags,
        trace,
    } = item;
    let elements = list::take(value, key);
    if !elements.is_empty()
        && !elements
            .iter()
            .any(|(_, element)| element.is_object() || element.is_array())
    {
        return Err(ReadError::UnknownShape {
            path,
            found: "a list without any object".to_owned(),
            known: crate::feed::names(&[]),
        });
    }
    for (relative, element) in elements {
        let element = Item {
            path: format!("{path}{relative}"),
            flags: within(&flags, &relative),
            value: element,
            trace: trace.clone(),
        };
        let (at, copy) = (element.path.clone(), element.value.clone());
        if let Err(error) = open(element, under, feeds, out) {
            out.items.push(Err(Box::new(Failed {
                path: at,
                value: copy,
                error,
            })));
        }
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
    Ok(eventbridge::recognise(value))
}

fn inner(item: &Item, envelope: &Envelope<'_>) -> Result<Item, ReadError> {
    let (relative, decoded) = match envelope.content {
        Content::Inline(key) => {
            let relative = format!("/{key}");
            let value = item.value.get(key).cloned().unwrap_or(Value::Null);
            let flags = within(&item.flags, &relative);
            (relative, Ok(Decoded { value, flags }))
        }
        Content::Text(path, text) => (path.to_owned(), text_json(path, text.as_bytes())),
        Content::Base64(path, text) => {
            let bytes = base64_bytes(text).ok_or_else(|| ReadError::Envelope {
                envelope: envelope.name,
                path: path.to_owned(),
                expected: "JSON in base64",
                found: "text that is no base64".to_owned(),
            });
            let decoded = bytes.and_then(|bytes| text_json(path, &bytes));
            (path.to_owned(), decoded)
        }
    };
    let decoded = decoded.map_err(|error| error.under(&item.path))?;
    Ok(Item {
        path: format!("{}{relative}", item.path),
        value: decoded.value,
        flags: decoded.flags,
        trace: cloudevents::trace(&item.value, envelope.name).or_else(|| item.trace.clone()),
    })
}

fn text_json(path: &str, bytes: &[u8]) -> Result<Decoded, ReadError> {
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

/// Base64 in the standard or the URL alphabet, with or without padding and line breaks.
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

/// The flags at or under a pointer, made relative to it; one of the whole document stays with every part of it.
fn within(flags: &[Flag], prefix: &str) -> Vec<Flag> {
    let relative = |path: &str| match path.strip_prefix(prefix) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Some(rest.to_owned()),
        _ if path.is_empty() || prefix.starts_with(path) => Some(String::new()),
        _ => None,
    };
    flags
        .iter()
        .filter_map(|flag| match flag {
            Flag::Truncated { path } => relative(path).map(|path| Flag::Truncated { path }),
            Flag::Replaced { path } => relative(path).map(|path| Flag::Replaced { path }),
            Flag::DuplicateKey { path } => relative(path).map(|path| Flag::DuplicateKey { path }),
            Flag::Instructions { path } => relative(path).map(|path| Flag::Instructions { path }),
            other => Some(other.clone()),
        })
        .collect()
}

/// What a JSON value is, in a word or two, for errors.
pub(crate) fn describe(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::Bool(_)) => "a boolean".to_owned(),
        Some(Value::Number(_)) => "a number".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "an empty string".to_owned(),
        Some(Value::String(_)) => "a string".to_owned(),
        Some(Value::Array(items)) => format!("a list of {}", items.len()),
        Some(Value::Object(map)) if map.is_empty() => "an empty object".to_owned(),
        Some(Value::Object(map)) => {
            let keys: Vec<String> = map
                .keys()
                .take(5)
                .map(|key| crate::text::cut(&crate::text::strip_hidden(key).0, 30).into_owned())
                .collect();
            let more = if map.len() > 5 { ", …" } else { "" };
            format!("an object with {}{more}", keys.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
