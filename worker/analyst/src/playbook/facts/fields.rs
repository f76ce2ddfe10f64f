//! Finds fields of the alert by the end of their path.

use minijinja::value::Serde;
use minijinja::{Error, State, Value};
use serde_json::{Value as Json, json};

use super::{MAX_ENTRIES, with_facts};
use crate::playbook::functions::words;

/// Implements `fields(patterns)`, which returns the scalars of the alert whose path ends in one of these patterns, each
/// `{value, at}`, in the order of the patterns. `*` matches one segment, and case is ignored. One pattern therefore
/// finds both spellings of a field at any depth of wrapping.
pub(super) fn fields(state: &State<'_, '_>, patterns: &Value) -> Result<Value, Error> {
    let patterns: Vec<Vec<String>> = words(Some(patterns))?
        .unwrap_or_default()
        .iter()
        .map(|pattern| {
            let segments = pattern.split('/').filter(|segment| !segment.is_empty());
            segments.map(str::to_lowercase).collect()
        })
        .collect();
    with_facts(state, |facts| {
        let mut list = Vec::new();
        walk(facts.alert(), &mut Vec::new(), &mut |path, scalar| {
            let rank = patterns.iter().position(|pattern| ends_in(path, pattern));
            list.extend(rank.map(|rank| (rank, json!({"value": scalar, "at": place(path)}))));
        });
        list.sort_by_key(|(rank, _)| *rank);
        let mut list: Vec<Json> = list.into_iter().map(|(_, entry)| entry).collect();
        list.truncate(MAX_ENTRIES);
        Value::from(Serde(list))
    })
}

/// A segment of a path into JSON.
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

impl Segment<'_> {
    fn is(&self, wanted: &str) -> bool {
        match self {
            Self::Key(key) => key.eq_ignore_ascii_case(wanted),
            Self::Index(index) => wanted.parse() == Ok(*index),
        }
    }
}

/// Visits every scalar in document order, with its path. The parsers bound the depth.
fn walk<'a>(
    value: &'a Json,
    path: &mut Vec<Segment<'a>>,
    visit: &mut impl FnMut(&[Segment<'a>], &'a Json),
) {
    match value {
        Json::Object(map) => {
            for (key, inner) in map {
                path.push(Segment::Key(key));
                walk(inner, path, visit);
                path.pop();
            }
        }
        Json::Array(rows) => {
            for (index, inner) in rows.iter().enumerate() {
                path.push(Segment::Index(index));
                walk(inner, path, visit);
                path.pop();
            }
        }
        Json::Null => {}
        scalar => visit(path, scalar),
    }
}

fn ends_in(path: &[Segment<'_>], pattern: &[String]) -> bool {
    path.len() >= pattern.len()
        && path
            .iter()
            .rev()
            .zip(pattern.iter().rev())
            .all(|(got, want)| want == "*" || got.is(want))
}

/// Returns the place of a value in `E0`, as a JSON pointer.
fn place(path: &[Segment<'_>]) -> String {
    let mut place = "E0:".to_owned();
    for segment in path {
        place.push('/');
        match segment {
            Segment::Key(key) => place.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => place.push_str(&index.to_string()),
        }
    }
    place
}
