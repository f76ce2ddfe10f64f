//! The functions and filters that playbooks have beside minijinja's own.
//!
//! They give flat lists of typed entries, each with the place it stands at (`at`), so that a rule reads one row and
//! cites it, and a missing answer is an empty list instead of an error.

mod entries;

use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use nightshift_expression::language::Language;
use serde_json::{Value as Json, json};

pub(super) use entries::named_of;

use super::calls::MAX_CALLS;
use super::deeds;
use super::facts::{FACTS, Facts};
use super::findings::FINDINGS;
use super::patterns;
use super::whole::{partial, unasked, whole};

/// Most entries that one function gives.
const MAX_ENTRIES: usize = 256;

/// Most entries of the answers of one step: all rows of all its calls, for a rule must not pass over the last.
const MAX_ANSWERED: usize = 200 * MAX_CALLS;

/// The functions, with which argument names a step or a finding (for the check).
pub(super) const FUNCTIONS: [&str; 17] = [
    "indicators",
    "details",
    "patterns",
    "each",
    "answered",
    "whole",
    "partial",
    "unasked",
    "rows",
    "finding",
    "fields",
    "earlier",
    "cleared_by",
    "in_any",
    "mentions",
    "at",
    "acts_outward",
];

/// Functions that need results of earlier steps.
pub(super) const NEEDS_RESULTS: [&str; 8] = [
    "results", "each", "answered", "whole", "partial", "unasked", "rows", "finding",
];

/// The language of playbooks.
pub(super) static LANGUAGE: LazyLock<Language> = LazyLock::new(|| Language::new(add));

/// Adds the functions and filters.
fn add(environment: &mut Environment<'static>) {
    environment.add_function("indicators", indicators);
    environment.add_function("details", details);
    environment.add_function("patterns", patterns);
    environment.add_function("each", each);
    environment.add_function("answered", answered);
    environment.add_function("whole", whole);
    environment.add_function("partial", partial);
    environment.add_function("unasked", unasked);
    environment.add_function("rows", rows);
    environment.add_function("finding", finding);
    environment.add_function("fields", fields);
    environment.add_function("in_any", in_any);
    environment.add_function("mentions", mentions);
    environment.add_function("at", at);
    environment.add_function("earlier", earlier);
    environment.add_function("acts_outward", acts_outward);
    environment.add_filter("outside", entries::outside);
    environment.add_filter("beyond", entries::beyond);
    environment.add_filter("with_asked", entries::with_asked);
    environment.add_filter("free_of", entries::free_of);
    environment.add_filter("flat", entries::flat);
    environment.add_filter("named", entries::named);
    environment.add_filter("mentioning", entries::mentioning);
    environment.add_filter("short", short);
    environment.add_filter("times", times);
    environment.add_filter("default", default);
    deeds::add(environment);
}

pub(super) fn with_facts<T>(
    state: &State<'_, '_>,
    read: impl FnOnce(&Facts) -> T,
) -> Result<T, Error> {
    let value = state.lookup(FACTS).unwrap_or_default();
    match value.downcast_object_ref::<Facts>() {
        Some(facts) => Ok(read(facts)),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            "there are no facts here",
        )),
    }
}

/// One word, or a list of words.
pub(super) fn words(value: Option<&Value>) -> Result<Option<Vec<String>>, Error> {
    let Some(value) = value.filter(|value| !value.is_none() && !value.is_undefined()) else {
        return Ok(None);
    };
    if let Some(word) = value.as_str() {
        return Ok(Some(vec![word.to_owned()]));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "a word or a list of words is wanted",
        ));
    }
    Ok(Some(
        value.try_iter()?.map(|word| word.to_string()).collect(),
    ))
}

/// `indicators(types, roles)`: indicators of the alert, each `{type, value, role, at}`.
fn indicators(
    state: &State<'_, '_>,
    types: Option<Value>,
    roles: Option<Value>,
) -> Result<Value, Error> {
    let types = words(types.as_ref())?;
    let roles = words(roles.as_ref())?;
    let wanted = |filter: &Option<Vec<String>>, value: Option<&str>| {
        filter
            .as_ref()
            .is_none_or(|words| words.iter().any(|word| Some(word.as_str()) == value))
    };
    with_facts(state, |facts| {
        let all = |name: &str| facts.fields.get(name).and_then(Json::as_array);
        let text =
            |one: &'_ Json, name: &str| one.get(name).and_then(Json::as_str).map(str::to_owned);
        // Who was given a right must be covered as whoever acts, and did not act.
        let granted = all("details").into_iter().flatten();
        let granted = granted.filter(|one| text(one, "type").as_deref() == Some("grantee"));
        let granted: Vec<String> = granted.filter_map(|one| text(one, "value")).collect();
        let role = |one: &Json| match text(one, "value") {
            Some(value) if granted.contains(&value) => Some("related".to_owned()),
            _ => text(one, "role"),
        };
        let list = all("indicators")
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, one)| {
                wanted(&types, text(one, "type").as_deref()) && wanted(&roles, role(one).as_deref())
            })
            .take(MAX_ENTRIES)
            .map(|(index, one)| {
                let at = format!("E0:/indicators/{index}/value");
                let fields = one.as_object().into_iter().flatten();
                let fields = fields.map(|(name, value)| (name.as_str(), Value::from(Serde(value))));
                Value::from_pairs(fields.chain([("at", Value::from(at))]))
            });
        list.collect()
    })
}

/// `details(types)`: details of the alert, each `{type, value, about, at}`.
fn details(state: &State<'_, '_>, types: Option<Value>) -> Result<Value, Error> {
    let types = words(types.as_ref())?;
    with_facts(state, |facts| {
        let all = facts.source().map_or(&[][..], |alert| &alert.details);
        let wanted = |kind: &str| {
            types
                .as_ref()
                .is_none_or(|all| all.iter().any(|one| one == kind))
        };
        let list: Vec<Json> = (0..)
            .zip(all)
            .filter(|(_, detail)| wanted(detail.kind.as_str()))
            .map(|(index, detail): (usize, _)| {
                json!({
                    "type": detail.kind,
                    "value": detail.value,
                    "about": detail.about,
                    "at": format!("E0:/details/{index}/value"),
                })
            })
            .collect();
        Value::from(Serde(list))
    })
}

/// `patterns()`: the techniques that the typed fields of the alert show, strong ones first; each `{id, technique, strong,
/// says, decides, actions, value, places}`.
fn patterns(state: &State<'_, '_>) -> Result<Value, Error> {
    with_facts(state, |facts| {
        let shown = facts.source().map(patterns::shown);
        Value::from(Serde(shown.unwrap_or_default()))
    })
}

/// `each(step, pointer)`: what stands at this JSON pointer of each answer of a step, lists spread out; each `{row, at,
/// asked, tool, kind, whole, hidden}`.
fn each(state: &State<'_, '_>, step: &str, pointer: &str) -> Result<Value, Error> {
    with_facts(state, |facts| {
        let mut list = Vec::new();
        for result in facts.results.get(step).into_iter().flatten() {
            let body = facts.body(result.output.id);
            let Some(value) = body.and_then(|body| body.pointer(pointer)) else {
                continue;
            };
            let whole = facts.says_all(&result.output);
            let hidden = body.and_then(|body| deeds::hidden(&result.output, body));
            let mut add = |row: &Json, path: String| {
                list.push(json!({
                    "row": row,
                    "at": format!("{}:{path}", result.output.id),
                    "asked": asked(&result.arguments),
                    "tool": result.tool,
                    "kind": result.kind,
                    "whole": whole,
                    "hidden": hidden,
                }));
            };
            match value {
                Json::Array(rows) => {
                    for (index, row) in rows.iter().enumerate() {
                        add(row, format!("{pointer}/{index}"));
                    }
                }
                Json::Null => {}
                one => add(one, pointer.to_owned()),
            }
        }
        list.truncate(MAX_ANSWERED);
        Value::from(Serde(list))
    })
}

/// The value that a call was about: its first argument that names one.
fn asked(arguments: &Json) -> Option<&str> {
    const NAMES: [&str; 6] = [
        "indicator",
        "principal",
        "access_key",
        "ip",
        "instance",
        "resource",
    ];
    NAMES
        .iter()
        .find_map(|name| arguments.get(name).and_then(Json::as_str))
}

/// `answered(step)`: whether any call of the step got an answer.
fn answered(state: &State<'_, '_>, step: &str) -> Result<bool, Error> {
    with_facts(state, |facts| {
        facts.results.get(step).is_some_and(|all| !all.is_empty())
    })
}

/// `rows(step)`: how many rows the calls of the step found together.
fn rows(state: &State<'_, '_>, step: &str) -> Result<u64, Error> {
    with_facts(state, |facts| {
        facts
            .results
            .get(step)
            .into_iter()
            .flatten()
            .filter_map(|result| result.output.rows)
            .fold(0, u64::saturating_add)
    })
}

/// `finding(id)`: whether a finding of the playbook was made.
fn finding(state: &State<'_, '_>, id: &str) -> Result<bool, Error> {
    let made = state.lookup(FINDINGS).unwrap_or_default();
    Ok(made.try_iter()?.any(|one| one.as_str() == Some(id)))
}

/// `fields(patterns)`: scalars of the alert whose path ends in one of these ways; each `{value, at}`, in the
/// order of the patterns. `*` stands for any one segment, case
/// does not matter: the same field of both spellings of a feed, however deep it was wrapped.
fn fields(state: &State<'_, '_>, patterns: &Value) -> Result<Value, Error> {
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
            let rank = patterns.iter().position(|pattern| ends_so(path, pattern));
            list.extend(rank.map(|rank| (rank, json!({"value": scalar, "at": place(path)}))));
        });
        list.sort_by_key(|(rank, _)| *rank);
        let mut list: Vec<Json> = list.into_iter().map(|(_, entry)| entry).collect();
        list.truncate(MAX_ENTRIES);
        Value::from(Serde(list))
    })
}

/// One segment of a path into JSON.
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

/// Visits every scalar in the order of the document, with the way to it. The depth is bounded by that of what parsers let
/// in.
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

fn ends_so(path: &[Segment<'_>], pattern: &[String]) -> bool {
    path.len() >= pattern.len()
        && path
            .iter()
            .rev()
            .zip(pattern.iter().rev())
            .all(|(got, want)| want == "*" || got.is(want))
}

/// The place of a value in `E0`, as a JSON pointer.
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

/// `acts_outward()`: whether what the alert concerns did this to others, as the engine judges records by it.
fn acts_outward(state: &State<'_, '_>) -> Result<bool, Error> {
    with_facts(state, Facts::acts_outward)
}

/// `earlier()`: the earlier cases of E1, each `{row, at}`.
fn earlier(state: &State<'_, '_>) -> Result<Value, Error> {
    with_facts(state, |facts| {
        let past = facts.past;
        let cases = past
            .and_then(|past| facts.body(past)?.get("cases"))
            .and_then(Json::as_array);
        let list: Vec<Json> = cases
            .into_iter()
            .flatten()
            .take(MAX_ENTRIES)
            .enumerate()
            .map(|(index, row)| {
                let id = past.map_or_else(String::new, |past| past.to_string());
                json!({"row": row, "at": format!("{id}:/cases/{index}")})
            })
            .collect();
        Value::from(Serde(list))
    })
}

/// `at(value)`: where the alert names this value as an indicator; nothing where it does not.
fn at(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    with_facts(state, |facts| {
        let all = facts.fields.get("indicators").and_then(Json::as_array);
        all.into_iter()
            .flatten()
            .position(|one| one.get("value").and_then(Json::as_str) == value.as_str())
            .map(|index| format!("E0:/indicators/{index}/value"))
            .unwrap_or_default()
    })
}

/// `in_any(ip, networks)`: whether the address lies in one of the networks (addresses or CIDR).
pub(super) fn in_any(ip: &Value, networks: &Value) -> Result<bool, Error> {
    let Some(ip) = ip.as_str().and_then(|text| text.parse::<IpAddr>().ok()) else {
        return Ok(false);
    };
    Ok(words(Some(networks))?
        .unwrap_or_default()
        .iter()
        .any(|network| {
            network.parse::<IpNet>().is_ok_and(|net| net.contains(&ip))
                || network.parse::<IpAddr>().is_ok_and(|one| one == ip)
        }))
}

/// `mentions(text, words)`: whether the text holds one of the words, whole, in any case.
fn mentions(text: &Value, wanted: &Value) -> Result<bool, Error> {
    let wanted = words(Some(wanted))?.unwrap_or_default();
    Ok(text
        .as_str()
        .is_some_and(|text| entries::holds_word(text, &wanted)))
}

/// `value | default(other)`: the other where the value is missing, null or empty. Tools give null for a column that a
/// record lacks, so minijinja's own filter, which sees only what is missing, would let it through.
fn default(value: &Value, other: Option<Value>) -> Value {
    if value.is_undefined() || value.is_none() || value.as_str() == Some("") {
        other.unwrap_or_else(|| Value::from(""))
    } else {
        value.clone()
    }
}

/// `count | times`: `once`, `twice`, `31 times`.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    }
}

/// `text | short` or `text | short(40)`: the first characters, cut between words.
fn short(text: &Value, most: Option<usize>) -> String {
    let text = text.to_string();
    let most = most.unwrap_or(80);
    let mut out = String::new();
    for word in text.split_whitespace() {
        if out.chars().count() + word.chars().count() >= most {
            out.push_str(if out.is_empty() { "…" } else { " …" });
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}
