//! Parses a received span.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1 as otlp;

/// A span with its ids in hex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace_id: String,
    pub span_id: String,
    /// Id of the parent, or empty.
    pub parent_id: String,
    /// True if the parent belongs to another program.
    pub is_remote: bool,
    /// The trace state.
    pub state: String,
    pub name: String,
    /// `internal`, `client`, `consumer`, `producer`, `server`.
    pub kind: &'static str,
    /// Start in nanoseconds.
    pub begun: u64,
    /// End in nanoseconds.
    pub ended: u64,
    /// Attributes as text.
    pub attributes: BTreeMap<String, String>,
    /// The names of those that are whole numbers.
    pub numbers: BTreeSet<String>,
    /// Trace and span ids of the links.
    pub links: Vec<(String, String)>,
    /// True if the status is an error.
    pub failed: bool,
    /// True if the status is `Ok`, which is more than unset.
    pub ok: bool,
}

impl Span {
    /// Returns an attribute, or an empty text.
    #[must_use]
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// Parses a span, or returns its fault.
    pub(super) fn from_otlp(span: &otlp::Span) -> Result<Self, String> {
        let is_remote = span.flags & 0x200 != 0;
        if span.flags & 0x101 != 0x101 {
            return Err(format!("flags {:#x}", span.flags));
        }
        if span.name.is_empty() || span.name.len() > 200 {
            return Err("its name".to_owned());
        }
        if span.start_time_unix_nano < 1_700_000_000_000_000_000
            || span.end_time_unix_nano < span.start_time_unix_nano
        {
            return Err("its times".to_owned());
        }
        let links = span.links.iter();
        let links = links.map(|link| Ok((id(&link.trace_id, 16)?, id(&link.span_id, 8)?)));
        let status = span.status.as_ref().map(otlp::Status::code);
        Ok(Self {
            trace_id: id(&span.trace_id, 16)?,
            span_id: id(&span.span_id, 8)?,
            parent_id: match span.parent_span_id.as_slice() {
                [] => String::new(),
                bytes => id(bytes, 8)?,
            },
            is_remote,
            state: span.trace_state.clone(),
            name: span.name.clone(),
            kind: kind(span.kind())?,
            begun: span.start_time_unix_nano,
            ended: span.end_time_unix_nano,
            attributes: attributes(&span.attributes)?,
            numbers: numbers(&span.attributes),
            links: links.collect::<Result<_, String>>()?,
            failed: status == Some(otlp::status::StatusCode::Error),
            ok: status == Some(otlp::status::StatusCode::Ok),
        })
    }
}

fn kind(kind: otlp::span::SpanKind) -> Result<&'static str, String> {
    use otlp::span::SpanKind;
    match kind {
        SpanKind::Unspecified => Err("it has no kind".to_owned()),
        SpanKind::Internal => Ok("internal"),
        SpanKind::Server => Ok("server"),
        SpanKind::Client => Ok("client"),
        SpanKind::Producer => Ok("producer"),
        SpanKind::Consumer => Ok("consumer"),
    }
}

/// Checks an id: it has this length and is not zero.
fn id(bytes: &[u8], length: usize) -> Result<String, String> {
    if bytes.len() != length || bytes.iter().all(|byte| *byte == 0) {
        return Err(format!("the id {bytes:?}"));
    }
    Ok(hex::encode(bytes))
}

/// Joins the texts of a list with commas.
fn texts(values: &[AnyValue]) -> Result<String, String> {
    let values = values.iter().map(|value| match &value.value {
        Some(Value::StringValue(text)) => Ok(text.as_str()),
        other => Err(format!("in a list: {other:?}")),
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[{}]", values.join(", ")))
}

/// Returns the names of attributes that are whole numbers.
fn numbers(all: &[KeyValue]) -> BTreeSet<String> {
    let is_number = |one: &&KeyValue| {
        let value = one.value.as_ref().and_then(|value| value.value.as_ref());
        matches!(value, Some(Value::IntValue(_)))
    };
    let numbers = all.iter().filter(is_number);
    numbers.map(|one| one.key.clone()).collect()
}

/// Parses attributes, and refuses a repeated name.
pub(super) fn attributes(all: &[KeyValue]) -> Result<BTreeMap<String, String>, String> {
    let mut read = BTreeMap::new();
    for one in all {
        let value = one.value.as_ref().and_then(|value| value.value.as_ref());
        let text = match value {
            Some(Value::StringValue(text)) => text.clone(),
            Some(Value::BoolValue(value)) => value.to_string(),
            Some(Value::IntValue(value)) => value.to_string(),
            Some(Value::DoubleValue(value)) => value.to_string(),
            Some(Value::ArrayValue(values)) => texts(&values.values)?,
            other => return Err(format!("the attribute {}: {other:?}", one.key)),
        };
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
        if one.key.is_empty() || !one.key.chars().all(is_name) {
            return Err(format!("the attribute {:?}", one.key));
        }
        if read.insert(one.key.clone(), text).is_some() {
            return Err(format!("two attributes {:?}", one.key));
        }
    }
    Ok(read)
}
