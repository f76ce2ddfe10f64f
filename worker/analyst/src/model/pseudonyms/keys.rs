//! Keys by which values are told.

use super::values::Kind;

/// Ends of keys, in lower case without `_` and `-`, whose values are of a kind.
const KEYS: &[(&str, Kind)] = &[
    ("accountid", Kind::Account),
    ("account", Kind::Account),
    ("accountname", Kind::Account),
    ("project", Kind::Account),
    ("projectid", Kind::Account),
    ("principal", Kind::Principal),
    ("principalid", Kind::Principal),
    ("username", Kind::Principal),
    ("userid", Kind::Principal),
    ("owner", Kind::Principal),
    ("approvedby", Kind::Principal),
    ("email", Kind::Principal),
    ("host", Kind::Host),
    ("hostname", Kind::Host),
    ("instance", Kind::Host),
    ("instanceid", Kind::Host),
    ("instancename", Kind::Host),
    ("computer", Kind::Host),
];

pub(super) fn kind_of(key: &str) -> Option<Kind> {
    let plain: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    KEYS.iter()
        .find(|(name, _)| *name == plain)
        .map(|(_, kind)| *kind)
}
