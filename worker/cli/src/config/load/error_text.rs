//! Writes error messages for a configuration that cannot be read: position, key and expected type.
//!
//! They never contain the value. It may be a secret in the wrong place, and these messages are logged. Messages of
//! serde and the lines that toml quotes are therefore rewritten.

use std::cell::Cell;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue, Error};
use toml::{Spanned, Table, Value};

use super::super::Config;
use super::super::environment::suggest_nearest;

/// Describes an error in a file.
pub(super) fn file_error(path: &Path, text: &str, error: &Error) -> String {
    let message = error.message();
    let path = path.display();
    let Some(span) = error.span() else {
        return format!("{path}: {}", message_text(message));
    };
    let found = match DeserializeError::parse(message) {
        Some(fault) => key(text, &span, &fault),
        None => element(text, &span),
    };
    let (key, start) = found.map_or_else(
        || (String::new(), span.start),
        |(key, start)| (format!("{key}: "), start),
    );
    format!(
        "{path}{}: {key}{}",
        place(text, start),
        message_text(message)
    )
}

/// Describes an error without a file.
pub(super) fn message_text(message: &str) -> String {
    match DeserializeError::parse(message) {
        Some(fault) => fault.description(),
        None => suggest(message),
    }
}

fn place(text: &str, start: usize) -> String {
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(1, |last| last.chars().count() + 1);
    format!(":{line}:{column}")
}

/// The parts of serde's `invalid type: string "x", expected a sequence`.
struct DeserializeError<'a> {
    /// True if the value has the right type and is out of bounds.
    is_of_type: bool,
    /// `string`
    kind: &'a str,
    /// `"x"`, or empty if serde names no value.
    value: &'a str,
    /// `a sequence`
    expected: Option<&'a str>,
}

impl<'a> DeserializeError<'a> {
    fn parse(message: &'a str) -> Option<Self> {
        let (what, told) = message.strip_prefix("invalid ")?.split_once(": ")?;
        // The value may contain these words too. The expected type comes last.
        let (found, expected) = match told.rsplit_once(", expected ") {
            Some((found, expected)) => (found, Some(expected)),
            None => (told, None),
        };
        let (kind, value) = found.split_at(found.find(['"', '`']).unwrap_or(found.len()));
        Some(Self {
            is_of_type: what == "value",
            kind: kind.trim_end(),
            value,
            expected,
        })
    }

    /// Describes the expected type in terms of TOML, without the value.
    fn description(&self) -> String {
        let Some(expected) = self.expected else {
            return format!("this {} cannot be used", self.kind);
        };
        let expected = expected_text(expected);
        match toml_type_name(self.kind) {
            Some(kind) if !self.is_of_type => format!("{kind} stands here, {expected} is wanted"),
            _ => format!("{expected} is wanted"),
        }
    }

    /// Returns whether serde's message is about this value.
    fn is_about(&self, value: &DeValue<'_>) -> bool {
        let written = self.value.trim_matches('`');
        match value {
            DeValue::String(text) => self.value == format!("{text:?}"),
            DeValue::Integer(number) => written == number.as_str(),
            DeValue::Float(number) => written == number.as_str(),
            DeValue::Boolean(one) => written == one.to_string(),
            DeValue::Array(_) => self.kind == "sequence",
            DeValue::Table(_) => self.kind == "map",
            DeValue::Datetime(_) => false,
        }
    }
}

/// Returns the TOML name of a type in serde's messages.
fn toml_type_name(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" => "a string",
        "integer" => "an integer",
        "floating point" => "a float",
        "boolean" => "a boolean",
        "sequence" => "an array",
        "map" => "a table",
        _ => return None,
    })
}

/// Describes what serde expects, without the names of Rust types.
fn expected_text(expected: &str) -> String {
    let (least, number) = match expected.strip_prefix("a nonzero ") {
        Some(number) => (1, number),
        None => (0, expected),
    };
    let below = |most: u64| format!("an integer from {least} to {most}");
    match number {
        "u8" => below(u8::MAX.into()),
        "u16" => below(u16::MAX.into()),
        "u32" => below(u32::MAX.into()),
        "u64" | "usize" => format!("an integer of {least} or more"),
        "i64" => "an integer".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "a table".to_owned(),
        "path string" => "a string".to_owned(),
        one if one.starts_with("struct ") || one.starts_with("internally tagged enum ") => {
            "a table".to_owned()
        }
        one => one.to_owned(),
    }
}

/// Converts serde's "unknown field `urll`, expected `url`" and suggests the nearest name.
fn suggest(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((word, known)) if message.starts_with("unknown ") && !known.is_empty() => {
            let what = message.split('`').next().unwrap_or_default().trim();
            format!("{what} {word:?}; {}", suggest_nearest(word, known))
        }
        _ => message.to_owned(),
    }
}

/// Returns the key, such as `[web] tokens`, and the position of its value. For tables that are chosen by their `kind`,
/// serde reports only the section. The key is then found by its value, if exactly one key of the section has this
/// value.
fn key(text: &str, span: &Range<usize>, fault: &DeserializeError<'_>) -> Option<(String, usize)> {
    let root = DeTable::parse(text).ok()?;
    for (section, top) in root.get_ref() {
        let mut path = Vec::new();
        let Some(whole) = find_value(top, &mut path, &|one| one.span() == *span) else {
            continue;
        };
        let times = Cell::new(0);
        let is_it =
            |one: &Spanned<DeValue<'_>>| !std::ptr::eq(one, whole) && fault.is_about(one.get_ref());
        let count = |one: &Spanned<DeValue<'_>>| {
            times.set(times.get() + usize::from(is_it(one)));
            false
        };
        find_value(whole, &mut Vec::new(), &count);
        let found = (times.get() == 1).then(|| find_value(whole, &mut path, &is_it));
        let found = found.flatten().unwrap_or(whole);
        let section = match top.get_ref() {
            DeValue::Table(_) => format!("[{}]", section.get_ref()),
            DeValue::Array(_) => format!("[[{}]]", section.get_ref()),
            _ => section.get_ref().to_string(),
        };
        let keys = path.join(".");
        let key = format!("{section} {keys}").trim_end().to_owned();
        return Some((key, found.span().start));
    }
    None
}

/// Returns the invalid one of several tables with the same name, and its position. For tables that are chosen by
/// their `kind`, serde reports only the first. The invalid one is the table that cannot be parsed alone.
fn element(text: &str, span: &Range<usize>) -> Option<(String, usize)> {
    let root = DeTable::parse(text).ok()?;
    let (section, top) = root.get_ref().iter().find(|(_, top)| top.span() == *span)?;
    let section = section.get_ref();
    let tables: Table = text.parse().ok()?;
    let all = tables.get(section.as_ref())?.as_array()?;
    for (table, place) in all.iter().zip(top.get_ref().as_array()?) {
        let alone = Table::from_iter([(section.to_string(), Value::Array(vec![table.clone()]))]);
        let Err(error) = alone.try_into::<Config>() else {
            continue;
        };
        let keys = place.get_ref().as_table()?;
        let unknown = error.message().strip_prefix("unknown field `");
        let unknown = unknown.and_then(|rest| rest.split('`').next());
        let key = keys
            .keys()
            .find(|key| Some(key.get_ref().as_ref()) == unknown);
        let start = key.map_or(place.span().start, |key| key.span().start);
        let name = table.get("name").and_then(Value::as_str);
        let name = name.map_or_else(String::new, |name| format!(" {name:?}"));
        return Some((format!("[[{section}]]{name}"), start));
    }
    None
}

/// Finds the first matching value and the keys that lead to it.
fn find_value<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    path: &mut Vec<&'a str>,
    is_wanted: &dyn Fn(&Spanned<DeValue<'i>>) -> bool,
) -> Option<&'a Spanned<DeValue<'i>>> {
    if is_wanted(value) {
        return Some(value);
    }
    match value.get_ref() {
        DeValue::Table(table) => table.iter().find_map(|(key, one)| {
            path.push(key.get_ref());
            let found = find_value(one, path, is_wanted);
            if found.is_none() {
                path.pop();
            }
            found
        }),
        DeValue::Array(list) => list.iter().find_map(|one| find_value(one, path, is_wanted)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = toml::from_str::<Config>(text).unwrap_err();
        file_error(Path::new("nightshift.toml"), text, &error)
    }

    #[test]
    fn an_error_says_file_line_column_and_the_nearest_key() {
        insta::assert_snapshot!(refused("[store]\nurll = \"x\"\n"), @r#"nightshift.toml:2:1: unknown field "urll"; did you mean "url"?"#);
        insta::assert_snapshot!(refused("[limts]\nsteps = 1\n"), @r#"nightshift.toml:1:2: unknown field "limts"; did you mean "limits"?"#);
        insta::assert_snapshot!(refused("[limits]\nsteps = \"many\"\n"), @"nightshift.toml:2:9: [limits] steps: a string stands here, an integer of 0 or more is wanted");
        insta::assert_snapshot!(refused("[[mute]]\nwhen = 1.5\n"), @"nightshift.toml:2:8: [[mute]] when: a float stands here, a table is wanted");
        insta::assert_snapshot!(refused("[[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nqueue = \"q\"\nurl = \"u\"\nprefetch = 70000\n"), @"nightshift.toml:6:12: [[source]] prefetch: an integer from 0 to 65535 is wanted");
        let spool = "[[source]]\nname = \"a\"\nkind = \"spool\"\ndir = \"d\"\n";
        let after = |second: &str| refused(&format!("{spool}\n{second}"));
        insta::assert_snapshot!(after("[[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"u\"\n"), @r#"nightshift.toml:6:1: [[source]] "mq": missing field `queue`"#);
        insta::assert_snapshot!(after("[[source]]\nname = \"mq\"\nkind = \"spool\"\ndirr = \"u\"\n"), @r#"nightshift.toml:9:1: [[source]] "mq": unknown field "dirr"; did you mean "dir"?"#);
        insta::assert_snapshot!(after("[[source]]\nkind = \"spol\"\n"), @r#"nightshift.toml:7:8: unknown variant "spol"; did you mean "spool"?"#);
        insta::assert_snapshot!(refused("[store\n"), @"nightshift.toml:1:7: unclosed table, expected `]`");
    }

    #[test]
    fn a_value_is_not_told_whatever_it_is_and_wherever_it_stands() {
        let texts = [
            "[web]\ntokens = \"hunter2, expected a sequence\"",
            "[web]\ntokens = [\n  \"env:A\",\n  [\"hunter2\"]\n]",
            "[store]\npassword = 7770777",
            "[store]\npassword = { hunter = 1.5 }",
            "[store]\nurl = [\"postgres://ana:hunter2@h/d\"]",
            "[traces]\nheaders = \"authorization=Bearer hunter2\"",
            "[traces]\nheaders = { authorization = 7770777 }",
            "[traces]\nheaders.authorization = [\"hunter2\"]",
            "[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\napi_key = 7770777",
            "[[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = \"hunter2\"",
            "[[source]]\nname = \"a\"\nkind = \"spool\"\ndir = \"d\"\n\
             [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nqueue = \"q\"\nurl = \"u\"\npassword = 7770777",
            "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"https://a/\"\nsecret = [\"hunter2\"]",
            "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"https://a/\"\nsecret = true",
            "[web]\ntokens = hunter2",
            "[web]\ntokens = [\"hunter2]",
            "[web]\ntokens = [\"hunter2\" \"hunter2\"]",
            "[store]\npassword = \"hun\\ter\\qhunter2\"",
        ];
        let told: Vec<String> = texts.into_iter().map(refused).collect();
        for one in &told {
            assert!(!one.contains("hunter2") && !one.contains("777"), "{one}");
        }
        insta::assert_snapshot!(told.join("\n"), @r#"
        nightshift.toml:2:10: [web] tokens: a string stands here, an array is wanted
        nightshift.toml:4:3: [web] tokens: an array stands here, a string is wanted
        nightshift.toml:2:12: [store] password: an integer stands here, a string is wanted
        nightshift.toml:2:12: [store] password: a table stands here, a string is wanted
        nightshift.toml:2:7: [store] url: an array stands here, a string is wanted
        nightshift.toml:2:11: [traces] headers: a string stands here, a table is wanted
        nightshift.toml:2:29: [traces] headers.authorization: an integer stands here, a string is wanted
        nightshift.toml:2:25: [traces] headers.authorization: an array stands here, a string is wanted
        nightshift.toml:5:11: [[model]] api_key: an integer stands here, a string is wanted
        nightshift.toml:4:10: [[source]] tokens: a string stands here, an array is wanted
        nightshift.toml:10:12: [[source]] password: an integer stands here, a string is wanted
        nightshift.toml:5:10: [[destination]] secret: an array stands here, a string is wanted
        nightshift.toml:5:10: [[destination]] secret: a boolean stands here, a string is wanted
        nightshift.toml:2:10: string values must be quoted, expected literal string
        nightshift.toml:2:20: unclosed array, expected `]`
        nightshift.toml:2:21: missing comma between array elements, expected `,`
        nightshift.toml:2:21: missing escaped value, expected `b`, `e`, `f`, `n`, `r`, `\`, `"`, `x`, `u`, `U`
        "#);
    }
}
