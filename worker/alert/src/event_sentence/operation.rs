//! Describes an operation of a cloud's API in plain words.

use super::entity::{object, short_line};
use crate::{Alert, CloudProvider, DetailKind};

/// Operations with phrases of their own.
const OPERATIONS: &str = include_str!("operations.tsv");

/// Operations whose direction follows from the vendor's type or title, with their phrases.
const DIRECTIONS: &str = include_str!("directions.tsv");

/// An operation as a verb with its object.
pub(super) struct VerbPhrase {
    /// `stop CloudTrail trail org`.
    pub(super) infinitive: String,
    /// `stopped CloudTrail trail org`.
    pub(super) past: String,
}

struct OperationRow<'a> {
    verb: &'a str,
    past: &'a str,
    named: &'a str,
    unnamed: &'a str,
    word: &'a str,
}

/// Returns the phrase for the one operation of an alert, or `None` when it has none or several.
pub(super) fn phrase(alert: &Alert) -> Option<VerbPhrase> {
    let told = operation(alert)?;
    let (service, name) = split_operation(told);
    if let Some(row) = find_directional_row(alert, name).or_else(|| find_row(name)) {
        let words = match object(alert, row.word) {
            Some(value) => row.named.replace("{}", &value),
            None => row.unnamed.to_owned(),
        };
        return Some(VerbPhrase {
            infinitive: format!("{} {words}", row.verb),
            past: format!("{} {words}", row.past),
        });
    }
    // A phrase with spaces is not a method name and stays unchanged.
    if name.contains(char::is_whitespace) {
        let quoted = format!("\"{}\"", short_line(name));
        return Some(VerbPhrase {
            infinitive: format!("do {quoted}"),
            past: format!("did {quoted}"),
        });
    }
    let word = match alert.provider {
        CloudProvider::Aws => service.unwrap_or_default(),
        _ => "-",
    };
    let on = object(alert, word).map_or_else(String::new, |value| format!(" on {value}"));
    let name = short_line(name);
    let called = match service {
        Some(service) => format!("{}:{name}{on}", short_line(service)),
        None => format!("{name}{on}"),
    };
    Some(VerbPhrase {
        infinitive: format!("call {called}"),
        past: format!("called {called}"),
    })
}

/// Returns whether the one operation of an alert has a phrase of its own, which names its purpose.
pub(super) fn has_phrase(alert: &Alert) -> bool {
    operation(alert).is_some_and(|told| find_row(split_operation(told).1).is_some())
}

/// Returns the names of all operations of the alert, without duplicates.
pub(super) fn names(alert: &Alert) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for told in alert.details_of(DetailKind::Operation) {
        let (_, name) = split_operation(told);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the operation: the detail, else the name after `AWS_API_CALL`, else an action that is a method name.
fn operation(alert: &Alert) -> Option<&str> {
    match names(alert).len() {
        0 => {
            let action = alert.action.as_deref()?;
            let called = action.strip_prefix("AWS_API_CALL ");
            // An action that only repeats the type is an event, not a call.
            let is_call = |action: &&str| is_method(action) && *action != alert.kind;
            called.or_else(|| Some(action).filter(is_call))
        }
        1 => alert.details_of(DetailKind::Operation).next(),
        _ => None,
    }
}

/// Returns whether a text is one name in mixed case, as API methods have: `SetIamPolicy`,
/// `v1.compute.instances.insert`.
fn is_method(action: &str) -> bool {
    let is_one = !action.contains([' ', '_', '-', ':']);
    is_one && (action.contains('.') || find_row(action).is_some())
}

/// Returns the short service, if known, and the name: `s3` and `GetObject` of `s3.amazonaws.com GetObject`.
fn split_operation(told: &str) -> (Option<&str>, &str) {
    let is_one = |name: &str| !name.trim().contains(char::is_whitespace);
    let is_method = |name: &str| is_one(name) && !name.trim().starts_with(char::is_lowercase);
    let (service, name) = match told.split_once([' ', ':']) {
        Some((service, name)) if service.contains('.') || is_method(name) => {
            (service.split('.').next(), name.trim())
        }
        Some((service, name)) if told.contains(&format!("{service}:")) && is_one(name) => {
            (Some(service), name.trim())
        }
        _ => (None, told),
    };
    (service.filter(|word| !word.is_empty()), name)
}

/// Returns the row of a name. A dotted name is looked up by its last two parts, else by its last. A version suffix is
/// ignored.
fn find_row(name: &str) -> Option<OperationRow<'static>> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let two = name.rmatch_indices('.').nth(1).map(|(at, _)| at + 1);
    let two = name.get(two.unwrap_or(0)..).unwrap_or(name);
    let bare = last.split(|c: char| c.is_ascii_digit()).next();
    [two, last, bare.unwrap_or(last)]
        .into_iter()
        .find_map(|wanted| rows().find(|(name, _)| name.eq_ignore_ascii_case(wanted)))
        .map(|(_, row)| row)
}

/// Returns the row of a name that fits the vendor's type or title.
fn find_directional_row(alert: &Alert, name: &str) -> Option<OperationRow<'static>> {
    let bare = |text: &str| text.replace([' ', '-', '_'], "").to_lowercase();
    let (kind, title) = (bare(&alert.kind), bare(&alert.title));
    let lines = DIRECTIONS.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('\t'))
        .filter(|(word, _)| kind.contains(word) || title.contains(word))
        .filter_map(|(_, rest)| parse_row(rest))
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, row)| row)
}

fn rows() -> impl Iterator<Item = (&'static str, OperationRow<'static>)> {
    let lines = OPERATIONS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parse_row)
}

/// Parses one line: the name of an operation and its phrase.
fn parse_row(line: &'static str) -> Option<(&'static str, OperationRow<'static>)> {
    let mut columns = line.split('\t');
    let name = columns.next()?;
    let row = OperationRow {
        verb: columns.next()?,
        past: columns.next()?,
        named: columns.next()?,
        unnamed: columns.next()?,
        word: columns.next()?,
    };
    Some((name, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_words_once() {
        let lines = OPERATIONS.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(rows().count(), lines.count());
        let mut names: Vec<String> = rows().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        let directed = DIRECTIONS.lines().filter(|line| !line.starts_with('#'));
        let directed: Vec<_> = directed
            .map(|line| parse_row(line.split_once('\t').unwrap().1).unwrap())
            .collect();
        for (name, row) in rows().chain(directed) {
            assert!(!row.unnamed.contains("{}"), "{name}");
            assert!(!row.word.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_name_is_found_with_its_path_and_version() {
        for name in [
            "SetIAMPolicy",
            "google.iam.admin.v1.CreateServiceAccountKey",
            "v1.compute.instances.insert",
            "UpdateFunctionCode20150331v2",
        ] {
            assert!(find_row(name).is_some(), "{name}");
        }
        assert!(find_row("Insert").is_none());
    }

    #[test]
    fn phrase_is_no_service_and_method() {
        for (told, service, name) in [
            ("Consent to application", None, "Consent to application"),
            ("Add member to role.", None, "Add member to role."),
            ("s3.amazonaws.com GetObject", Some("s3"), "GetObject"),
            ("ec2:RunInstances", Some("ec2"), "RunInstances"),
            ("iam CreateUser", Some("iam"), "CreateUser"),
        ] {
            assert_eq!(split_operation(told), (service, name), "{told}");
        }
    }
}
