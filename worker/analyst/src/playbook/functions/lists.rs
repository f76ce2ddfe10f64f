//! Filters over lists of entries.

use std::net::IpAddr;

use minijinja::{Error, Value};

use super::arguments::words;
use super::text::holds_word;

/// Implements `rows | with_asked('source_ip')`, which returns the entries whose row has the address that was asked for
/// in that column. A search for an address also finds traffic that was sent to it.
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

/// Implements `entries | free_of(words, 'row.principal')`, which returns the entries whose text at that path contains
/// none of the words.
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

/// Implements `list | mentioning(words)`, which returns the entries whose `value` contains one of the words, as a whole
/// word in any case.
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

/// Implements `lists | flat`, which concatenates the lists.
pub(super) fn flat(lists: Value) -> Result<Vec<Value>, Error> {
    let mut all = Vec::new();
    for list in lists.try_iter()? {
        all.extend(list.try_iter()?);
    }
    Ok(all)
}
