//! Defines functions over texts: searches for words, and the forms in which people read values.

use minijinja::value::Rest;
use minijinja::{Error, Value};

use super::arguments::words;

/// Implements `mentions(text, words)`, which returns whether the text contains one of the words, as a whole word in any
/// case.
pub(super) fn mentions(text: &Value, wanted: &Value) -> Result<bool, Error> {
    let wanted = words(Some(wanted))?.unwrap_or_default();
    Ok(text.as_str().is_some_and(|text| holds_word(text, &wanted)))
}

/// Returns whether the text contains one of the words, as a whole word in any case.
pub(super) fn holds_word(text: &str, wanted: &[String]) -> bool {
    let text = text.to_lowercase();
    let bounded = |at: usize, found: &str| {
        let is_word = |c: char| c.is_alphanumeric();
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text
            .get(at + found.len()..)
            .and_then(|tail| tail.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    wanted.iter().map(|word| word.to_lowercase()).any(|word| {
        !word.is_empty()
            && text
                .match_indices(word.as_str())
                .any(|(at, found)| bounded(at, found))
    })
}

/// Implements `value | default(other)`, which returns the other value if the first is missing, null or empty. Tools
/// give null for a column that a record lacks, and minijinja's own filter replaces only missing values.
pub(super) fn default(value: &Value, other: Option<Value>) -> Value {
    if value.is_undefined() || value.is_none() || value.as_str() == Some("") {
        other.unwrap_or_else(|| Value::from(""))
    } else {
        value.clone()
    }
}

/// Implements `count | times`, which returns `once`, `twice`, `31 times`.
pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    }
}

/// Implements `text | short` or `text | short(40)`, which returns the first characters, cut between words.
pub(super) fn short(text: &Value, most: Option<usize>) -> String {
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

/// Implements `list | named` or `list | named(3)`, which returns the first few without duplicates, and how many more
/// there are.
pub(super) fn named(list: Value, most: Rest<Value>) -> Result<String, Error> {
    let most = most.first().and_then(Value::as_usize).unwrap_or(4);
    let names: Vec<String> = list.try_iter()?.map(|item| item.to_string()).collect();
    Ok(first_names(&names, most))
}

/// Returns the first few names without duplicates, and how many more there are.
pub(in crate::playbook) fn first_names(all: &[String], most: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in all {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    let text = names.join(", ");
    match more {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
