//! Selects the part of a result that a model sees, within its context window, with a marker that explains how to see
//! the rest.
//!
//! The complete result stays evidence. `evidence_read` shows more of it by a filter (rows and fields that hold a text)
//! and an offset (characters of the filtered result).

use std::borrow::Cow;

use nightshift_alert::JsonText;
use nightshift_engine::evidence::Evidence;
use serde_json::{Map, Value, json};

use super::tokens::{head_length, tokens};

/// Maximum size of one field, in bytes (attacks.md, 10).
pub(super) const MAX_FIELD_BYTES: usize = 8 * 1024;

/// Distance in bytes within which a cut looks back for the end of a row.
const ROW_LOOK_BACK: usize = 512;

/// Requested part of a result.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExcerptRange<'a> {
    /// Text that shown rows and fields must hold.
    pub(super) filter: Option<&'a str>,
    /// First character to show.
    pub(super) offset: usize,
}

impl<'a> ExcerptRange<'a> {
    /// Returns whether this is more than the first part.
    pub(super) const fn is_follow_up(&self) -> bool {
        self.filter.is_some() || self.offset > 0
    }

    /// Reads the arguments of `evidence_read`.
    pub(super) fn from_arguments(arguments: &'a Map<String, Value>) -> Self {
        let offset = arguments.get("offset").and_then(Value::as_u64);
        Self {
            filter: arguments
                .get("filter")
                .and_then(Value::as_str)
                .filter(|filter| !filter.trim().is_empty()),
            offset: offset.map_or(0, |offset| usize::try_from(offset).unwrap_or(usize::MAX)),
        }
    }
}

/// Formats a value as compact JSON with bounded texts.
pub(super) fn compact(value: &Value) -> String {
    serde_json::to_string(bounded(value).as_ref()).unwrap_or_default()
}

/// Returns the requested part of the evidence's answer, within `most` tokens.
pub(super) fn excerpt(evidence: &Evidence, look: ExcerptRange<'_>, most: u64) -> String {
    let id = evidence.id;
    let text = match look.filter {
        None => full_text(&evidence.body),
        Some(filter) => match filter_value(&evidence.body.value(), &filter.to_lowercase(), false) {
            Some(part) => compact(&part).into(),
            None => {
                return json!({"evidence": id, "filter": filter, "note": "nothing in it holds this text"})
                    .to_string();
            }
        },
    };
    let start = text
        .char_indices()
        .nth(look.offset)
        .map_or(text.len(), |(at, _)| at);
    let rest = text.get(start..).unwrap_or_default();
    if rest.is_empty() && look.offset > 0 {
        return format!("[{id} ends before character {}]", look.offset);
    }
    let end = row_end(rest, head_length(rest, most));
    let shown = rest.get(..end).unwrap_or_default();
    if end == rest.len() {
        return shown.to_owned();
    }
    let next = look.offset + shown.chars().count();
    let all = text.chars().count();
    let filter = look.filter.map_or_else(String::new, |filter| {
        format!(", \"filter\": {}", Value::from(filter))
    });
    format!(
        "{shown}\n[cut: characters {}-{next} of {all}. More: evidence_read {{\"id\": \"{id}\"{filter}, \"offset\": {next}}}, \
         or a narrower \"filter\"]",
        look.offset
    )
}

/// Returns the tokens of the complete answer.
pub(super) fn answer_tokens(evidence: &Evidence) -> u64 {
    tokens(&full_text(&evidence.body))
}

/// Returns the complete answer as compact JSON with bounded texts. Most answers have no long text and are returned
/// unchanged.
fn full_text(body: &JsonText) -> Cow<'_, str> {
    let text = body.as_str();
    let is_bounded = text.len() <= MAX_FIELD_BYTES
        || !text.contains("\\\"")
            && text
                .split('"')
                .all(|between| between.len() <= MAX_FIELD_BYTES);
    if is_bounded {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(compact(&body.value()))
    }
}

/// Returns the end of the last complete row before `end`, if one is close.
fn row_end(text: &str, end: usize) -> usize {
    if end == text.len() {
        return end;
    }
    let from = text.floor_char_boundary(end.saturating_sub(ROW_LOOK_BACK));
    let tail = text.get(from..end).unwrap_or_default();
    tail.rfind("},").map_or(end, |at| from + at + 2)
}

/// Returns the rows and fields that hold the text: a row of a list whole, an object without its other fields.
fn filter_value(value: &Value, wanted: &str, is_row: bool) -> Option<Value> {
    match value {
        Value::Array(rows) => {
            let rows: Vec<Value> = rows
                .iter()
                .filter_map(|row| filter_value(row, wanted, true))
                .collect();
            (!rows.is_empty()).then_some(Value::Array(rows))
        }
        Value::Object(fields) => {
            let kept: Map<String, Value> = fields
                .iter()
                .filter_map(|(key, inner)| {
                    if key.to_lowercase().contains(wanted) {
                        return Some((key.clone(), inner.clone()));
                    }
                    Some((key.clone(), filter_value(inner, wanted, false)?))
                })
                .collect();
            if kept.is_empty() {
                None
            } else if is_row {
                Some(value.clone())
            } else {
                Some(Value::Object(kept))
            }
        }
        Value::String(text) => text.to_lowercase().contains(wanted).then(|| value.clone()),
        Value::Null => None,
        scalar => scalar.to_string().contains(wanted).then(|| value.clone()),
    }
}

/// Returns the value, or a copy whose texts are cut at [`MAX_FIELD_BYTES`].
fn bounded(value: &Value) -> Cow<'_, Value> {
    if is_within_limits(value) {
        return Cow::Borrowed(value);
    }
    let mut copy = value.clone();
    shorten(&mut copy);
    Cow::Owned(copy)
}

fn is_within_limits(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= MAX_FIELD_BYTES,
        Value::Array(list) => list.iter().all(is_within_limits),
        Value::Object(map) => map
            .iter()
            .all(|(key, value)| key.len() <= MAX_FIELD_BYTES && is_within_limits(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cut) = bounded_text(text) {
                *text = cut;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(map) => {
            map.retain(|key, _| key.len() <= MAX_FIELD_BYTES);
            map.values_mut().for_each(shorten);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the text of a field, cut where it is too long.
pub(super) fn bounded_text(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_FIELD_BYTES {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(MAX_FIELD_BYTES - 3);
    Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use nightshift_engine::evidence::EvidenceId;

    use super::*;

    fn evidence(body: Value) -> Evidence {
        Evidence {
            id: EvidenceId(3),
            step: None,
            tool: "logs".into(),
            kind: "log_search".into(),
            arguments: Map::new(),
            at: DateTime::UNIX_EPOCH,
            body: body.into(),
            rows: None,
            truncated: false,
            error: None,
            flags: Vec::new(),
        }
    }

    fn rows(many: usize) -> Value {
        let rows: Vec<_> = (0..many)
            .map(|n| json!({"at": n, "action": format!("Action{n}"), "ip": "198.51.100.7"}))
            .collect();
        json!({"rows": rows, "rows_matched": many})
    }

    #[test]
    fn texts_of_an_answer_are_bounded_however_they_are_written() {
        let long = "x".repeat(MAX_FIELD_BYTES + 1);
        let quoted = "say \"x\" ".repeat(MAX_FIELD_BYTES / 8);
        let key: Map<String, Value> = [(long.clone(), json!(1))].into_iter().collect();
        for body in [
            json!({"short": "a \\ and \" and é", "list": [null, 1.5, "x"]}),
            json!({"a": 1, "long": long}),
            json!([[quoted]]),
            Value::Object(key),
            json!("x".repeat(MAX_FIELD_BYTES)),
        ] {
            assert_eq!(full_text(&JsonText::from(&body)), compact(&body));
        }
    }

    #[test]
    fn r1_a_result_is_bounded_and_says_how_to_see_the_rest() {
        let all = evidence(rows(2_000));
        let whole = compact(&all.body.value());
        let mut read = String::new();
        let mut offset = 0;
        let mut looks = 0;
        while read.len() < whole.len() {
            let shown = excerpt(
                &all,
                ExcerptRange {
                    filter: None,
                    offset,
                },
                4_000,
            );
            let part = shown.split("\n[cut:").next().unwrap_or_default();
            assert!(tokens(part) <= 4_000);
            assert!(part.ends_with("},") || part.ends_with('}'), "whole rows");
            read.push_str(part);
            offset += part.chars().count();
            looks += 1;
        }
        assert_eq!(read, whole, "the looks together show all of it");
        assert!(looks > 3);
        let next = excerpt(
            &all,
            ExcerptRange {
                filter: None,
                offset,
            },
            4_000,
        );
        assert!(next.contains("ends before"), "{next}");
    }

    #[test]
    fn a_filter_leaves_the_rows_that_hold_the_text() {
        let all = evidence(rows(200));
        let look = ExcerptRange {
            filter: Some("ACTION19"),
            offset: 0,
        };
        let shown: Value = serde_json::from_str(&excerpt(&all, look, 10_000)).unwrap();
        assert_eq!(shown["rows"].as_array().unwrap().len(), 11);
        assert_eq!(shown["rows"][0]["ip"], "198.51.100.7", "a row is whole");
        let none = ExcerptRange {
            filter: Some("nobody"),
            offset: 0,
        };
        assert!(excerpt(&all, none, 10_000).contains("nothing in it holds"));
    }

    #[test]
    fn a17_a_field_of_a_megabyte_is_cut() {
        let text = compact(&json!({"a": "é".repeat(1 << 20), "b": 1}));
        assert!(text.len() < MAX_FIELD_BYTES + 64, "{}", text.len());
        assert!(text.ends_with(r#"…","b":1}"#), "the rest stays");
    }
}
