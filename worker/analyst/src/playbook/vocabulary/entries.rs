//! Filters over lists of entries: which of them a rule is about.

use std::net::IpAddr;

use minijinja::value::Rest;
use minijinja::{Error, Value};
use nightshift_alert::is_public;

use super::{in_any, words};

/// `rows | outside(networks)`: the entries whose `row.source_ip` is a public address in none of these networks. What a
/// service of the cloud does in somebody's name has no address, and is not outside.
pub(super) fn outside(list: Value, networks: &Value) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        let source = entry.get_attr("row")?.get_attr("source_ip")?;
        let ip = source.as_str().and_then(|text| text.parse::<IpAddr>().ok());
        if ip.is_some_and(is_public) && !in_any(&source, networks)? {
            found.push(entry);
        }
    }
    Ok(found)
}

/// `indicators | beyond(networks)`: the entries whose `value` is in none of these networks.
pub(super) fn beyond(list: Value, networks: &Value) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        if !in_any(&entry.get_attr("value")?, networks)? {
            found.push(entry);
        }
    }
    Ok(found)
}

/// `rows | with_asked('source_ip')`: the entries whose row has there the very address that was asked for. A search for an
/// address also finds what was sent to it.
pub(super) fn with_asked(list: Value, column: &str) -> Result<Vec<Value>, Error> {
    let ip = |value: Value| value.as_str().and_then(|text| text.parse::<IpAddr>().ok());
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        let there = ip(entry.get_attr("row")?.get_attr(column)?);
        if there.is_some() && there == ip(entry.get_attr("asked")?) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// `entries | free_of(words, 'row.principal')`: the entries with a text there that holds none of the words.
pub(super) fn free_of(list: Value, wanted: &Value, path: &str) -> Result<Vec<Value>, Error> {
    let wanted = words(Some(wanted))?.unwrap_or_default();
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        let at = path
            .split('.')
            .try_fold(entry.clone(), |value, name| value.get_attr(name))?;
        if at
            .as_str()
            .is_some_and(|text| !text.is_empty() && !holds_word(text, &wanted))
        {
            found.push(entry);
        }
    }
    Ok(found)
}

/// `list | mentioning(words)`: the entries whose `value` holds one of the words, whole, in any case.
pub(super) fn mentioning(list: Value, wanted: &Value) -> Result<Vec<Value>, Error> {
    let wanted = words(Some(wanted))?.unwrap_or_default();
    Ok(list
        .try_iter()?
        .filter(|entry| {
            entry
                .get_attr("value")
                .is_ok_and(|value| value.as_str().is_some_and(|text| holds_word(text, &wanted)))
        })
        .collect())
}

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

/// `lists | flat`: the entries of all these lists, in one.
pub(super) fn flat(lists: Value) -> Result<Vec<Value>, Error> {
    let mut all = Vec::new();
    for list in lists.try_iter()? {
        all.extend(list.try_iter()?);
    }
    Ok(all)
}

/// `list | named` or `list | named(3)`: the first few, without doubles, and how many more there are.
pub(super) fn named(list: Value, most: Rest<Value>) -> Result<String, Error> {
    let most = most.first().and_then(Value::as_usize).unwrap_or(4);
    let names: Vec<String> = list.try_iter()?.map(|item| item.to_string()).collect();
    Ok(named_of(&names, most))
}

/// The first few of these, without doubles, and how many more there are.
pub(in crate::playbook) fn named_of(all: &[String], most: usize) -> String {
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
