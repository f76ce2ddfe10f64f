//! Writes error messages for a configuration that cannot be read: position, key and expected type.
//!
//! They never contain the value. It may be a secret in the wrong place, and these messages are logged. Messages of
//! serde and the lines that toml quotes are therefore rewritten.

use std::path::Path;

use serde_path_to_error::Segment;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::super::environment::suggest_nearest;

/// Describes an error in a file that is TOML.
pub(super) fn file_error(
    path: &Path,
    text: &str,
    error: &serde_path_to_error::Error<Error>,
) -> String {
    let message = error.inner().message();
    let (key, start) = match locate(text, error) {
        Some((key, start)) => (format!("{key}: "), Some(start)),
        None => (String::new(), error.inner().span().map(|span| span.start)),
    };
    let place = start.map_or_else(String::new, |start| place(text, start));
    format!("{}{place}: {key}{}", path.display(), message_text(message))
}

/// Describes an error in a file that is not TOML.
pub(super) fn syntax_error(path: &Path, text: &str, error: &Error) -> String {
    let place = error
        .span()
        .map_or_else(String::new, |span| place(text, span.start));
    format!(
        "{}{place}: {}",
        path.display(),
        message_text(error.message())
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
/// serde reports only the table. The key is then found by its value, if exactly one key of the table has this value.
fn locate(text: &str, error: &serde_path_to_error::Error<Error>) -> Option<(String, usize)> {
    let root = DeTable::parse(text).ok()?;
    let mut segments = error.path().iter();
    let Some(Segment::Map { key: section }) = segments.next() else {
        return None;
    };
    let mut value = root.get_ref().get(section.as_str())?;
    let header = match value.get_ref() {
        DeValue::Table(_) => format!("[{section}]"),
        DeValue::Array(_) => format!("[[{section}]]"),
        _ => section.clone(),
    };
    let mut keys = Vec::new();
    for segment in segments {
        value = match (segment, value.get_ref()) {
            (Segment::Map { key }, DeValue::Table(table)) => {
                let Some(value) = table.get(key.as_str()) else {
                    break;
                };
                keys.push(key.as_str());
                value
            }
            (Segment::Seq { index }, DeValue::Array(list)) => list.get(*index)?,
            _ => break,
        };
    }
    let message = error.inner().message();
    if let Some(fault) = DeserializeError::parse(message) {
        let value = within(value, &fault, &mut keys).unwrap_or(value);
        let key = format!("{header} {}", keys.join("."));
        return Some((key.trim_end().to_owned(), value.span().start));
    }
    let unknown = message.strip_prefix("unknown field `");
    let unknown = unknown.and_then(|rest| rest.split('`').next());
    let DeValue::Table(table) = value.get_ref() else {
        return None;
    };
    if unknown == Some(keys.last().copied().unwrap_or(section)) {
        return None;
    }
    let name = table.get("name").and_then(|name| name.get_ref().as_str());
    let name = name.map_or_else(String::new, |name| format!(" {name:?}"));
    let mut known = table.keys();
    let key = known.find(|key| Some(key.get_ref().as_ref()) == unknown);
    let start = key.map_or(value.span().start, |key| key.span().start);
    Some((format!("{header}{name}"), start))
}

/// Returns the only value within a table that serde's message is about, and appends its keys.
fn within<'a, 'i>(
    table: &'a Spanned<DeValue<'i>>,
    fault: &DeserializeError<'_>,
    keys: &mut Vec<&'a str>,
) -> Option<&'a Spanned<DeValue<'i>>> {
    let mut found = Vec::new();
    collect(table, &mut Vec::new(), &mut |path, value| {
        if fault.is_about(value.get_ref()) {
            found.push((path.to_vec(), value));
        }
    });
    let [(path, value)] = found.as_slice() else {
        return None;
    };
    keys.extend(path);
    Some(value)
}

/// Passes on each value within a table or a list, with the keys that lead to it.
fn collect<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    path: &mut Vec<&'a str>,
    each: &mut dyn FnMut(&[&'a str], &'a Spanned<DeValue<'i>>),
) {
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, one) in table {
                path.push(key.get_ref());
                each(path, one);
                collect(one, path, each);
                path.pop();
            }
        }
        DeValue::Array(list) => {
            for one in list {
                each(path, one);
                collect(one, path, each);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = super::super::parse(Path::new("nightshift.toml"), text).unwrap_err();
        error.to_string()
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
