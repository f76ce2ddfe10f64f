//! A span while it is open: the fields of a `tracing` span, sorted into what OTLP has a place for and attributes.
//!
//! `otel.name`, `otel.kind` (internal, client, consumer, producer), `otel.status_code` (ok, where that is more than not to
//! have failed) and `error.type`, which makes it failed, are known to OpenTelemetry; `trace.id` and `trace.span` are ids that
//! its maker found, `trace.parent` is the span of another program that it goes on from, `trace.within` one of ours that may be
//! another process's, `trace.link` those that it is linked to, with spaces between them, `trace.begun` when it began and
//! `trace.ended` when it ended, in nanoseconds.

use std::fmt;

use nightshift_alert::TraceContext;
use nightshift_alert::text::{cut, redact, strip_hidden, whole_words};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use tracing::field::{Field, Visit};

/// Most bytes of what was asked and answered, in one attribute.
const MOST_CONTENT_BYTES: usize = 32_000;
/// Attributes that hold it, as the GenAI conventions name them.
const CONTENTS: [&str; 5] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];
/// Ids that look random, and are no secrets: this program made them, or a provider for its answer.
const IDS: [&str; 4] = [
    "case.id",
    "gen_ai.conversation.id",
    "gen_ai.tool.call.id",
    "gen_ai.response.id",
];
/// Most characters of one.
const MOST_OF_ID: usize = 200;
/// What the conventions want a list of, and there is one of.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];

/// What is known of a span so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: Option<String>,
    pub(super) kind: SpanKind,
    pub(super) failed: bool,
    pub(super) ok: bool,
    pub(super) trace_id: Option<u128>,
    pub(super) span_id: Option<u64>,
    pub(super) parent: Option<TraceContext>,
    pub(super) state: String,
    pub(super) within: Option<TraceContext>,
    pub(super) begun: Option<u64>,
    pub(super) ended: Option<u64>,
    pub(super) links: Vec<Link>,
    pub(super) attributes: Vec<KeyValue>,
}

impl Draft {
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        let value = Some(AnyValue { value: Some(value) });
        match self.attributes.iter_mut().find(|known| known.key == name) {
            Some(known) => known.value = value,
            None => self.attributes.push(KeyValue {
                key: name.to_owned(),
                value,
                ..KeyValue::default()
            }),
        }
    }
}

impl Visit for Draft {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::DoubleValue(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::IntValue(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "trace.begun" => self.begun = Some(value),
            "trace.ended" => self.ended = Some(value),
            _ => self.set(
                field,
                Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)),
            ),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::BoolValue(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let context = |value| TraceContext::parse(value, None);
        match field.name() {
            "otel.name" => self.name = Some(clean(value)),
            "otel.kind" => self.kind = kind(value),
            "otel.status_code" => self.ok = value == "OK",
            "trace.id" => self.trace_id = u128::from_str_radix(value, 16).ok(),
            "trace.span" => self.span_id = u64::from_str_radix(value, 16).ok(),
            "trace.parent" => self.parent = context(value),
            "trace.state" => value.clone_into(&mut self.state),
            "trace.within" => self.within = context(value),
            "trace.link" => {
                let all = value.split(' ').filter_map(context);
                self.links.extend(all.map(link));
            }
            name => {
                self.failed |= name == "error.type";
                let value = match () {
                    () if IDS.contains(&name) => cut(value, MOST_OF_ID).into_owned(),
                    () if CONTENTS.contains(&name) => content(value),
                    () => clean(value),
                };
                let value = Value::StringValue(value);
                match LISTS.contains(&name) {
                    true => self.set(field, list_of(value)),
                    false => self.set(field, value),
                }
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

fn list_of(value: Value) -> Value {
    let values = vec![AnyValue { value: Some(value) }];
    Value::ArrayValue(ArrayValue { values })
}

/// An attribute that is a text.
pub(super) fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

/// Flags of a span whose parent is another program's, or of a link there: sampled, known to be remote, remote.
pub(super) const REMOTE: u32 = 0x301;
/// The same where it is ours.
pub(super) const LOCAL: u32 = 0x101;

fn link(context: TraceContext) -> Link {
    Link {
        trace_id: context.trace_id().0.to_be_bytes().to_vec(),
        span_id: context.span_id().0.to_be_bytes().to_vec(),
        flags: REMOTE,
        ..Link::default()
    }
}

fn kind(word: &str) -> SpanKind {
    match word {
        "client" => SpanKind::Client,
        "consumer" => SpanKind::Consumer,
        "producer" => SpanKind::Producer,
        _ => SpanKind::Internal,
    }
}

/// A text as it may stand in an attribute.
fn clean(value: &str) -> String {
    crate::logs::clean(value, false)
}

/// What was asked or answered: redacted when it came in, and once more on its way out.
fn content(value: &str) -> String {
    let head = value.get(..value.floor_char_boundary(MOST_CONTENT_BYTES));
    let (visible, _) = strip_hidden(head.unwrap_or_default());
    let (redacted, _) = redact(&visible);
    match value.len() > MOST_CONTENT_BYTES {
        true => format!("{}…", whole_words(&redacted)),
        false => cut(&redacted, MOST_CONTENT_BYTES).into_owned(),
    }
}
