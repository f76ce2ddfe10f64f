//! Refuses what Slack refuses according to <https://docs.slack.dev/reference/block-kit> and the pages of the methods.

use std::collections::HashSet;

use serde_json::{Map, Value};

type CheckResult = Result<(), String>;

/// The arguments of `chat.postMessage` and `chat.update` that the stub knows.
const ARGUMENTS: [&str; 12] = [
    "channel",
    "text",
    "blocks",
    "metadata",
    "parse",
    "link_names",
    "unfurl_links",
    "unfurl_media",
    "thread_ts",
    "reply_broadcast",
    "ts",
    "mrkdwn",
];

pub(crate) fn check(body: &Value) -> CheckResult {
    let body = body.as_object().ok_or("invalid_arguments: no object")?;
    for key in body.keys() {
        want(ARGUMENTS.contains(&key.as_str()), || {
            format!("invalid_arguments: {key}")
        })?;
    }
    want(body.get("parse") == Some(&Value::from("none")), || {
        "house: parse".into()
    })?;
    for key in ["unfurl_links", "unfurl_media", "link_names"] {
        want(body.get(key) == Some(&Value::from(false)), || {
            format!("house: {key}")
        })?;
    }
    let text = body.get("text").and_then(Value::as_str).unwrap_or_default();
    want(!text.is_empty() && units(text) <= 4_000, || {
        "no_text: text".into()
    })?;
    for key in ["ts", "thread_ts"] {
        if let Some(ts) = body.get(key) {
            want(ts.as_str().is_some_and(is_ts), || {
                format!("invalid_ts: {key} {ts}")
            })?;
        }
    }
    metadata(body.get("metadata"))?;
    let blocks = list(body.get("blocks"), "blocks", 1..=45)?;
    let mut ids = HashSet::new();
    let mut chars = 0;
    for one in blocks {
        if let Some(id) = one.get("block_id") {
            want(
                ids.insert(id.to_string()) && id.to_string().len() <= 257,
                || format!("invalid_blocks: block_id {id}"),
            )?;
        }
        chars += block(one).map_err(|why| format!("invalid_blocks: {why} in {one}"))?;
    }
    want(chars <= 12_000, || format!("msg_blocks_too_long: {chars}"))
}

/// Accepts at most 15 keys of simple values and 8,000 bytes.
fn metadata(metadata: Option<&Value>) -> CheckResult {
    let why = || "invalid_metadata_format: metadata".to_owned();
    let metadata = metadata.and_then(Value::as_object).ok_or_else(why)?;
    let kind = metadata.get("event_type").and_then(Value::as_str);
    want(
        kind.is_some_and(|kind| !kind.is_empty() && kind.len() <= 255),
        why,
    )?;
    let payload = metadata
        .get("event_payload")
        .and_then(Value::as_object)
        .ok_or_else(why)?;
    let simple = payload
        .values()
        .all(|value| !value.is_object() && !value.is_array());
    want(simple && payload.len() <= 15, why)?;
    want(
        Value::from(payload.clone()).to_string().len() <= 8_000,
        || "metadata_too_large".into(),
    )
}

/// Returns the number of characters.
fn block(block: &Value) -> Result<usize, String> {
    match block["type"].as_str().unwrap_or_default() {
        "header" => {
            only(block, &["type", "text", "block_id"])?;
            plain(&block["text"], 1..=150)
        }
        "section" => {
            only(block, &["type", "fields", "block_id"])?;
            sum(list(block.get("fields"), "fields", 1..=10)?, |field| {
                plain(field, 1..=2_000)
            })
        }
        "context" => {
            only(block, &["type", "elements", "block_id"])?;
            sum(list(block.get("elements"), "elements", 1..=10)?, |one| {
                plain(one, 1..=3_000)
            })
        }
        "actions" => {
            only(block, &["type", "elements", "block_id"])?;
            let buttons = list(block.get("elements"), "elements", 1..=25)?;
            let ids: HashSet<_> = buttons
                .iter()
                .map(|one| one["action_id"].to_string())
                .collect();
            want(ids.len() == buttons.len(), || "action_id twice".into())?;
            sum(buttons, button)
        }
        "rich_text" => {
            only(block, &["type", "elements", "block_id"])?;
            let chars = sum(list(block.get("elements"), "elements", 1..=200)?, rich)?;
            want(chars <= 3_000, || format!("{chars} characters"))?;
            Ok(chars)
        }
        other => Err(format!("unknown type {other:?}")),
    }
}

fn rich(element: &Value) -> Result<usize, String> {
    let elements = list(element.get("elements"), "elements", 1..=500)?;
    match element["type"].as_str().unwrap_or_default() {
        "rich_text_section" => sum(elements, |one| span(one, true)),
        "rich_text_preformatted" => sum(elements, |one| span(one, false)),
        "rich_text_list" => {
            only(element, &["type", "style", "indent", "elements"])?;
            want(
                element["style"] == "bullet" && element["indent"].as_u64() <= Some(8),
                || "list".into(),
            )?;
            for one in elements {
                want(one["type"] == "rich_text_section", || {
                    "no section in a list".into()
                })?;
            }
            sum(elements, rich)
        }
        other => Err(format!("unknown element {other:?}")),
    }
}

/// Accepts only text and times, no link, mention or emoji.
fn span(span: &Value, may_be_styled: bool) -> Result<usize, String> {
    match span["type"].as_str().unwrap_or_default() {
        "text" => {
            only(
                span,
                if may_be_styled {
                    &["type", "text", "style"]
                } else {
                    &["type", "text"]
                },
            )?;
            let text = span["text"].as_str().unwrap_or_default();
            want(!text.is_empty(), || "empty text".into())?;
            Ok(units(text))
        }
        "date" if may_be_styled => {
            only(span, &["type", "timestamp", "format", "fallback"])?;
            want(
                span["timestamp"].is_i64() && span["format"].is_string(),
                || "date".into(),
            )?;
            Ok(units(span["fallback"].as_str().unwrap_or_default()))
        }
        other => Err(format!("unknown span {other:?}")),
    }
}

fn button(button: &Value) -> Result<usize, String> {
    only(button, &["type", "action_id", "text", "value", "url"])?;
    let length = |key: &str| units(button[key].as_str().unwrap_or_default());
    want(button["type"] == "button", || "no button".into())?;
    want((1..=255).contains(&length("action_id")), || {
        "action_id".into()
    })?;
    want(length("value") <= 2_000 && length("url") <= 3_000, || {
        "value or url".into()
    })?;
    want(
        button.get("value").is_some() != button.get("url").is_some(),
        || "value and url".into(),
    )?;
    plain(&button["text"], 1..=75)
}

fn plain(text: &Value, chars: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    only(text, &["type", "text", "emoji"])?;
    want(text["type"] == "plain_text", || "no plain text".into())?;
    let length = units(text["text"].as_str().unwrap_or_default());
    want(chars.contains(&length), || format!("{length} characters"))?;
    Ok(length)
}

fn only(value: &Value, keys: &[&str]) -> CheckResult {
    let empty = Map::new();
    let map = value.as_object().unwrap_or(&empty);
    let unknown = map.keys().find(|key| !keys.contains(&key.as_str()));
    want(unknown.is_none() && !map.is_empty(), || {
        format!("key {unknown:?}")
    })
}

fn list<'a>(
    value: Option<&'a Value>,
    name: &str,
    length: std::ops::RangeInclusive<usize>,
) -> Result<&'a Vec<Value>, String> {
    let list = value
        .and_then(Value::as_array)
        .ok_or_else(|| format!("invalid_arguments: {name}"))?;
    want(length.contains(&list.len()), || {
        format!("{} {name}", list.len())
    })?;
    Ok(list)
}

fn sum(list: &[Value], of: impl Fn(&Value) -> Result<usize, String>) -> Result<usize, String> {
    list.iter().try_fold(0, |sum, one| Ok(sum + of(one)?))
}

fn want(fits: bool, why: impl FnOnce() -> String) -> CheckResult {
    if fits { Ok(()) } else { Err(why()) }
}

fn is_ts(ts: &str) -> bool {
    let number = |part: &str, length: usize| part.len() == length && part.parse::<u64>().is_ok();
    ts.split_once('.')
        .is_some_and(|(secs, rest)| number(secs, 10) && number(rest, 6))
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
