//! Cleans spans before they are exported: texts are redacted, bounded and on one line, and each attribute occurs once.

use std::collections::HashSet;

use nightshift_alert::text::{redact, strip_hidden, truncate, without_partial_word};
use opentelemetry::trace::Status;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::SpanData;

use crate::clean_line::clean_line;

/// Most bytes of a prompt, output, argument or result in one attribute.
const MOST_CONTENT_BYTES: usize = 32_000;
/// Attributes with prompts, outputs, arguments and results, by the GenAI conventions.
const CONTENTS: [&str; 5] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];
/// Ids that look random and are not secret: this program or a provider generated them.
const IDS: [&str; 4] = [
    "case.id",
    "gen_ai.conversation.id",
    "gen_ai.tool.call.id",
    "gen_ai.response.id",
];
/// Most characters of such an id.
const MOST_OF_ID: usize = 200;
/// Attributes that the conventions define as a list and that have one value here.
const LISTS: [&str; 1] = ["gen_ai.response.finish_reasons"];

/// Cleans the texts of a span, and marks the span as failed if it has an `error.type`.
pub(super) fn clean_span(span: &mut SpanData) {
    span.name = clean(&span.name).into();
    // Of several values of an attribute, the last one counts.
    let mut names = HashSet::new();
    span.attributes.reverse();
    span.attributes.retain(|one| names.insert(one.key.clone()));
    span.attributes.reverse();
    for attribute in &mut span.attributes {
        clean_attribute(attribute);
    }
    if names.iter().any(|name| name.as_str() == "error.type") {
        span.status = Status::error("");
    }
    // The clock may have been set back since the start.
    span.end_time = span.end_time.max(span.start_time);
}

fn clean_attribute(attribute: &mut KeyValue) {
    let Value::String(text) = &attribute.value else {
        return;
    };
    let (name, text) = (attribute.key.as_str(), text.as_str());
    let text = match () {
        () if IDS.contains(&name) => truncate(text, MOST_OF_ID).into_owned(),
        () if CONTENTS.contains(&name) => content(text),
        () => clean(text),
    };
    let text = StringValue::from(text);
    attribute.value = match LISTS.contains(&name) {
        true => Value::Array(Array::String(vec![text])),
        false => Value::String(text),
    };
}

/// Returns a text that is safe in an attribute.
fn clean(text: &str) -> String {
    clean_line(text, false)
}

/// Returns a prompt or an answer, redacted once more before it is exported.
fn content(text: &str) -> String {
    let head = text.get(..text.floor_char_boundary(MOST_CONTENT_BYTES));
    let (visible, _) = strip_hidden(head.unwrap_or_default());
    let (redacted, _) = redact(&visible);
    match text.len() > MOST_CONTENT_BYTES {
        true => format!("{}…", without_partial_word(&redacted)),
        false => truncate(&redacted, MOST_CONTENT_BYTES).into_owned(),
    }
}
