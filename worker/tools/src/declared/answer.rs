//! Reads an answer: what it means by status and body, and then the fields that all intelligence shares.
//!
//! Every field is optional. A field that cannot be read is a gap of the answer, never a guess.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use minijinja::Value;
use minijinja::value::{Serde, ValueKind};
use nightshift_engine::tool::{ToolError, ToolOutput};
use nightshift_expression::scope::Scope;
use serde_json::{Map, Value as Json, json};

use super::language::{find, holds, is_pointer, read};
use super::manifest::{AnswerTable, Manifest, Meaning, RequestTable, SpannedText};
use super::request;
use super::transport::{RawAnswer, clean};
use crate::timestamp::{self, DayBoundary};
use crate::tool::unavailable;

/// Most rows of an answer that are kept.
const MAX_KEPT_ROWS: usize = 50;
/// Most tags that are kept.
const MAX_TAGS: usize = 30;
/// Words of `verdict_hint`.
const HINTS: [&str; 3] = ["malicious", "suspicious", "harmless"];
/// Epoch times from here on are milliseconds. In seconds this is the year 5138.
const FIRST_MILLISECOND: f64 = 1e11;

/// The facts about a call that every answer repeats.
pub(super) struct CallFacts<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) request: &'a RequestTable,
    pub(super) arguments: &'a Map<String, Json>,
    /// Type of the indicator, if the tool takes one.
    pub(super) kind: Option<&'static str>,
    pub(super) scope: Scope,
    pub(super) now: DateTime<Utc>,
}

impl CallFacts<'_> {
    /// Reads the answer of the service.
    ///
    /// # Errors
    ///
    /// Returns the error that the service reports, or that the answer is not of the documented form.
    pub(super) fn read(mut self, raw: &RawAnswer) -> Result<ToolOutput, ToolError> {
        let parsed: Option<Json> = serde_json::from_slice(&raw.body).ok();
        let is_json = parsed.is_some();
        let body = Value::from(Serde(parsed.unwrap_or(Json::Null)));
        self.scope.set("body", body.clone());
        self.scope.set("status", Value::from(raw.status));
        let meaning = self.meaning(raw, is_json);
        let title = &self.manifest.title;
        let said = self.message(&body, raw, is_json);
        match meaning {
            Meaning::Unknown if is_json || raw.body.is_empty() => Ok(self.unknown()),
            Meaning::Answer if is_json => self.known(&body),
            Meaning::Answer | Meaning::Unknown => Err(unavailable(format!(
                "{title} answered {} with {}, not with JSON: is the address right, or is a proxy between?",
                raw.status,
                content_type(raw)
            ))),
            Meaning::Denied => Err(ToolError::Denied {
                what: format!("{title} refused the key{said}"),
            }),
            Meaning::RateLimited => {
                let wait = raw.retry_after;
                let wait = wait.map_or_else(String::new, |wait| {
                    format!("; it asks to wait {} s", wait.as_secs())
                });
                Err(unavailable(format!(
                    "{title}: too many requests{wait}{said}"
                )))
            }
            Meaning::Refused => Err(ToolError::Argument {
                argument: self.first_argument(),
                problem: format!("{title} does not take this value{said}"),
            }),
            Meaning::Unavailable => Err(unavailable(format!(
                "{title} answered {}{said}",
                raw.status
            ))),
        }
    }

    fn meaning(&self, raw: &RawAnswer, is_json: bool) -> Meaning {
        let outcomes = self.manifest.outcomes.iter().map(toml::Spanned::get_ref);
        let fits = outcomes
            .filter(|one| one.status.is_empty() || one.status.contains(&raw.status))
            .find(|one| {
                let when = one.when.as_ref();
                when.is_none_or(|when| is_json && holds(&self.scope, when.get_ref()))
            });
        match (fits, raw.status) {
            (Some(outcome), _) => outcome.meaning,
            (None, 200) => Meaning::Answer,
            (None, 401 | 403) => Meaning::Denied,
            (None, 429) => Meaning::RateLimited,
            (None, _) => Meaning::Unavailable,
        }
    }

    /// Returns the service's own words about an error, with a colon before them, or nothing.
    fn message(&self, body: &Value, raw: &RawAnswer, is_json: bool) -> String {
        if !is_json {
            return match raw.status {
                300..400 => ", which leads elsewhere and is not followed".to_owned(),
                _ => format!(" with {}", content_type(raw)),
            };
        }
        let message = self.manifest.answer.message.as_ref();
        let message = message.and_then(|text| read(&self.scope, body, text.get_ref()).ok());
        match message {
            Some(Json::String(text)) if !text.trim().is_empty() => format!(": {}", clean(&text)),
            _ => String::new(),
        }
    }

    fn first_argument(&self) -> String {
        let name = self.arguments.keys().next();
        name.map_or_else(|| super::manifest::INDICATOR.to_owned(), Clone::clone)
    }

    /// Returns the beginning of every answer.
    fn head(&self, found: bool) -> Map<String, Json> {
        let mut body = self.arguments.clone();
        if let Some(kind) = self.kind {
            body.insert("type".to_owned(), kind.into());
        }
        body.insert("source".to_owned(), self.manifest.title.clone().into());
        body.insert("found".to_owned(), found.into());
        let at = self.now.to_rfc3339_opts(SecondsFormat::Secs, true);
        body.insert("asked_at".to_owned(), at.into());
        body
    }

    fn unknown(&self) -> ToolOutput {
        let mut body = self.head(false);
        let note = format!(
            "unknown to {}, which says nothing for or against it",
            self.manifest.title
        );
        body.insert("note".to_owned(), note.into());
        ToolOutput {
            rows: Some(0),
            ..ToolOutput::from_body(Json::Object(body))
        }
    }

    fn known(mut self, root: &Value) -> Result<ToolOutput, ToolError> {
        let manifest = self.manifest;
        let answer = &manifest.answer;
        let unexpected = |problem: String| {
            unavailable(format!(
                "{}: the answer is not of the documented form: {problem}",
                manifest.title
            ))
        };
        let rows = match &answer.rows {
            None => None,
            Some(text) => match read(&self.scope, root, text.get_ref()).map_err(unexpected)? {
                Json::Array(rows) => Some(rows),
                Json::Null => Some(Vec::new()),
                _ => return Err(unexpected(format!("`{}` is no list", text.get_ref()))),
            },
        };
        self.scope
            .set("rows", Value::from(Serde(rows.as_deref().unwrap_or(&[]))));
        let found = match &answer.found {
            Some(text) if is_pointer(text.get_ref()) && find(root, text.get_ref()).is_none() => {
                return Err(unexpected(format!("it has no {}", text.get_ref())));
            }
            Some(text) => match read(&self.scope, root, text.get_ref()).map_err(unexpected)? {
                Json::Bool(found) => found,
                Json::Null => false,
                _ => {
                    let problem = format!("`{}` is neither true nor false", text.get_ref());
                    return Err(unexpected(problem));
                }
            },
            None if rows.is_none() && root.kind() != ValueKind::Map => {
                return Err(unexpected("it is no object".to_owned()));
            }
            None => rows.as_ref().is_none_or(|rows| !rows.is_empty()),
        };
        if !found {
            return Ok(self.unknown());
        }
        let mut body = self.head(true);
        let mut reader = FieldReader {
            request: self.request,
            scope: &self.scope,
            root,
            gaps: Vec::new(),
        };
        reader.shared_fields(answer, &mut body);
        let count = match &rows {
            None => 1,
            Some(rows) => {
                let kept = reader.rows(rows, &answer.row);
                if rows.len() > kept.len() {
                    let gap = format!("{} of {} rows are kept", kept.len(), rows.len());
                    reader.gaps.push(gap);
                }
                body.insert("rows_matched".to_owned(), rows.len().into());
                body.insert("rows".to_owned(), kept.into());
                rows.len() as u64
            }
        };
        let gaps = reader.gaps;
        let is_partial = !gaps.is_empty();
        body.insert("gaps".to_owned(), gaps.into());
        Ok(ToolOutput {
            rows: Some(count.max(1)),
            truncated: is_partial,
            ..ToolOutput::from_body(Json::Object(body))
        })
    }
}

fn content_type(raw: &RawAnswer) -> String {
    match raw.content_type.split(';').next().unwrap_or_default() {
        _ if raw.body.is_empty() => "nothing".to_owned(),
        "" => "an unnamed format".to_owned(),
        name => clean(name),
    }
}

/// Reads fields, and notes those that cannot be read.
struct FieldReader<'a> {
    request: &'a RequestTable,
    scope: &'a Scope,
    root: &'a Value,
    gaps: Vec<String>,
}

impl FieldReader<'_> {
    fn shared_fields(&mut self, answer: &AnswerTable, body: &mut Map<String, Json>) {
        let mut put = |name: &str, value: Json| body.insert(name.to_owned(), value);
        put(
            "verdict_hint",
            self.field("verdict_hint", answer.verdict_hint.as_ref(), hint),
        );
        put("score", self.field("score", answer.score.as_ref(), score));
        put(
            "first_seen",
            self.field("first_seen", answer.first_seen.as_ref(), time),
        );
        put(
            "last_seen",
            self.field("last_seen", answer.last_seen.as_ref(), time),
        );
        let mut tags = self.field("tags", answer.tags.as_ref(), tags);
        if let Json::Array(all) = &mut tags
            && all.len() > MAX_TAGS
        {
            let gap = format!("{MAX_TAGS} of {} or more tags are kept", all.len());
            self.gaps.push(gap);
            all.truncate(MAX_TAGS);
        }
        put("tags", if tags.is_null() { json!([]) } else { tags });
        let link = request::write_link(self.request, self.scope);
        put("link", link.map_or(Json::Null, Json::from));
        let mut detail = Map::new();
        for (name, text) in &answer.detail {
            detail.insert(name.clone(), self.field(name, Some(text), Some));
        }
        put("detail", detail.into());
        if let Json::String(gap) = self.field("gap", answer.gap.as_ref(), Some)
            && !gap.is_empty()
        {
            self.gaps.push(gap);
        }
    }

    /// Reads one field; nothing stays nothing.
    fn field(
        &mut self,
        name: &str,
        text: Option<&SpannedText>,
        convert: impl Fn(Json) -> Option<Json>,
    ) -> Json {
        let Some(text) = text else {
            return Json::Null;
        };
        let value = match read(self.scope, self.root, text.get_ref()) {
            Ok(Json::Null) => return Json::Null,
            Ok(value) => convert(value),
            Err(_) => None,
        };
        value.unwrap_or_else(|| {
            self.gaps
                .push(format!("{name} cannot be read from the answer"));
            Json::Null
        })
    }

    fn rows(&mut self, rows: &[Json], fields: &BTreeMap<String, SpannedText>) -> Vec<Json> {
        let kept = rows.iter().take(MAX_KEPT_ROWS);
        if fields.is_empty() {
            return kept.cloned().collect();
        }
        let mut unreadable = 0_usize;
        let kept = kept.map(|row| {
            let root = Value::from(Serde(row));
            let mut scope = self.scope.clone();
            scope.set("row", root.clone());
            let read_field = |text: &SpannedText| read(&scope, &root, text.get_ref());
            let mut kept = Map::new();
            for (name, text) in fields {
                let value = read_field(text);
                unreadable += usize::from(value.is_err());
                kept.insert(name.clone(), value.unwrap_or_default());
            }
            Json::Object(kept)
        });
        let kept = kept.collect();
        if unreadable > 0 {
            let gap = format!("{unreadable} fields of rows cannot be read from the answer");
            self.gaps.push(gap);
        }
        kept
    }
}

fn hint(value: Json) -> Option<Json> {
    match value.as_str() {
        Some("") => Some(Json::Null),
        Some(text) => HINTS.contains(&text).then_some(value),
        None => None,
    }
}

/// Returns a score from 0 to 100, as a whole number.
fn score(value: Json) -> Option<Json> {
    let number = match &value {
        Json::String(text) => text.parse().ok()?,
        other => other.as_f64()?,
    };
    // The bounds make the conversion exact.
    #[expect(clippy::cast_possible_truncation, reason = "from 0 to 100")]
    number
        .is_finite()
        .then(|| json!(number.clamp(0.0, 100.0).round() as i64))
}

/// Returns a time in RFC 3339, from a text or from seconds or milliseconds of the epoch. Zero is no time.
fn time(value: Json) -> Option<Json> {
    let at = match &value {
        Json::String(text) if text.is_empty() => return Some(Json::Null),
        Json::String(text) => timestamp::parse(text, DayBoundary::Start)?,
        Json::Number(number) => {
            let number = number.as_f64()?;
            if number == 0.0 {
                return Some(Json::Null);
            }
            let millis = match number < FIRST_MILLISECOND {
                true => number * 1000.0,
                false => number,
            };
            #[expect(clippy::cast_possible_truncation, reason = "chrono checks the range")]
            let millis = millis as i64;
            DateTime::from_timestamp_millis(millis)?
        }
        _ => return None,
    };
    Some(at.to_rfc3339_opts(SecondsFormat::Secs, true).into())
}

/// Returns distinct texts out of a list, or one text.
fn tags(value: Json) -> Option<Json> {
    let items = match value {
        Json::Array(items) => items,
        Json::String(text) => vec![text.into()],
        _ => return None,
    };
    let mut kept: Vec<Json> = Vec::new();
    for item in items {
        let is_text = item.as_str().is_some_and(|text| !text.is_empty());
        if is_text && !kept.contains(&item) && kept.len() <= MAX_TAGS {
            kept.push(item);
        }
    }
    Some(kept.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_vendor_become_one_form() {
        for (value, wanted) in [
            (json!(1_700_000_000), json!("2023-11-14T22:13:20Z")),
            (json!(1_700_000_000_123_i64), json!("2023-11-14T22:13:20Z")),
            (
                json!("2023-11-14 22:13:20 UTC"),
                json!("2023-11-14T22:13:20Z"),
            ),
            (
                json!("2023-11-14T23:13:20+01:00"),
                json!("2023-11-14T22:13:20Z"),
            ),
            (
                json!("2023-11-14T22:13:20.123456"),
                json!("2023-11-14T22:13:20Z"),
            ),
            (json!("2023-11-14"), json!("2023-11-14T00:00:00Z")),
            (json!(0), Json::Null),
            (json!(""), Json::Null),
        ] {
            assert_eq!(time(value.clone()), Some(wanted), "{value}");
        }
        for value in [json!("soon"), json!(true), json!([1]), json!(1e300)] {
            assert_eq!(time(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn score_is_a_whole_number_up_to_100() {
        for (value, wanted) in [
            (json!(0), 0),
            (json!(99.6), 100),
            (json!("75"), 75),
            (json!(-3), 0),
            (json!(1e9), 100),
        ] {
            assert_eq!(score(value.clone()), Some(json!(wanted)), "{value}");
        }
        for value in [json!("high"), json!({}), json!(true)] {
            assert_eq!(score(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn hint_is_one_of_three_words() {
        assert_eq!(hint(json!("malicious")), Some(json!("malicious")));
        assert_eq!(hint(json!("")), Some(Json::Null));
        assert_eq!(hint(json!("benign")), None, "no service clears anything");
    }

    #[test]
    fn tags_are_distinct_texts() {
        assert_eq!(tags(json!(["a", "b", "a", "", 7])), Some(json!(["a", "b"])));
        assert_eq!(tags(json!("scan")), Some(json!(["scan"])));
        assert_eq!(tags(json!(7)), None);
    }

    /// Reads an answer with these lines of `[answer]`.
    fn answered(lines: &str, status: u16, body: &Json) -> Result<ToolOutput, ToolError> {
        let file = format!(
            "name = \"own\"\ntitle = \"Own\"\ndescription = \"d\"\nhost = \"own.example.com\"\n\
             [[request]]\ntypes = [\"ip\"]\npath = \"/{{{{ indicator }}}}\"\n[answer]\n{lines}\n"
        );
        let manifest = Manifest::parse("own.toml", &file).unwrap();
        let facts = CallFacts {
            request: manifest.requests[0].get_ref(),
            manifest: &manifest,
            arguments: &Map::new(),
            kind: Some("ip"),
            scope: Scope::new(&super::super::language::LANGUAGE),
            now: DateTime::UNIX_EPOCH,
        };
        facts.read(&RawAnswer {
            status,
            content_type: "application/json".to_owned(),
            retry_after: None,
            body: body.to_string().into_bytes(),
        })
    }

    #[test]
    fn another_form_than_the_documented_one_is_an_error_and_no_miss() {
        let pointer = "found = \"/listed\"";
        for body in [
            json!({"error": "quota"}),
            json!([]),
            json!(null),
            json!(true),
        ] {
            for lines in [pointer, "found = \"body.count | int > 0\""] {
                let error = answered(lines, 200, &body).unwrap_err();
                assert!(error.to_string().contains("documented form"), "{error}");
            }
        }
        for body in [json!([]), json!(null), json!(true)] {
            assert!(answered("", 200, &body).is_err(), "{body}");
        }
        for count in [json!(""), json!([]), json!({})] {
            let body = json!({ "count": count });
            assert!(
                answered("found = \"body.count | int > 0\"", 200, &body).is_err(),
                "{body}"
            );
        }
        let listed = |value: Json| answered(pointer, 200, &json!({ "listed": value })).unwrap();
        assert_eq!(listed(json!(true)).body["found"], true);
        assert_eq!(listed(json!(null)).body["found"], false);
        for status in [202, 206] {
            assert!(answered(pointer, status, &json!({"listed": false})).is_err());
        }
    }

    #[test]
    fn what_was_left_out_makes_an_answer_partial() {
        let words: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
        let rows: Vec<Json> = (0..60).map(|number| json!({ "n": number })).collect();
        let output = answered(
            "rows = \"/rows\"\ntags = \"/tags\"",
            200,
            &json!({"rows": rows, "tags": words}),
        )
        .unwrap();
        assert!(output.truncated);
        assert_eq!(
            output.body["gaps"],
            json!(["30 of 31 or more tags are kept", "50 of 60 rows are kept"])
        );
    }
}
