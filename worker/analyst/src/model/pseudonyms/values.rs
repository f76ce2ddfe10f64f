//! Which values of a case are hidden: those that the alert types, and those under telling keys of results.

use std::collections::BTreeMap;

use nightshift_alert::{Alert, IndicatorKind};
use serde_json::Value;

use super::super::frame::About;
use super::super::settings::PseudonymSettings;

/// What a hidden value is; the token says it, so that the model still knows what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Account,
    Principal,
    Host,
    Address,
    Name,
}

impl Kind {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Principal => "principal",
            Self::Host => "host",
            Self::Address => "address",
            Self::Name => "name",
        }
    }
}

/// Names that tell nothing of an organisation, and would tear ordinary sentences apart.
const GENERIC: &[&str] = &[
    "root",
    "admin",
    "administrator",
    "system",
    "anonymous",
    "user",
    "default",
    "unknown",
    "none",
    "null",
    "true",
    "false",
    "ec2-user",
    "ubuntu",
    "nobody",
    "service",
    "host",
    "instance",
    "account",
    "principal",
    "address",
    "name",
];

/// Shortest value that is hidden, in characters.
const SHORTEST: usize = 3;

/// Longest value that is hidden, in characters: a longer one is no name.
const LONGEST: usize = 256;

/// Most values of one question.
const MOST: usize = 4_096;

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

/// The values of a question, by their lower-case spelling.
pub(super) fn of(settings: &PseudonymSettings, about: &About<'_>) -> BTreeMap<String, Kind> {
    let mut found = BTreeMap::new();
    for name in &settings.names {
        add(&mut found, name, Kind::Name);
    }
    of_alert(&mut found, about.alert);
    under_keys(&mut found, &about.alert.raw.value(), None);
    let calls = about
        .steps
        .iter()
        .chain(about.step)
        .flat_map(|view| &view.calls);
    let evidence = calls.filter_map(|call| call.evidence.as_ref());
    for evidence in evidence.chain(about.past) {
        under_keys(&mut found, &evidence.body.value(), None);
    }
    found
}

fn of_alert(found: &mut BTreeMap<String, Kind>, alert: &Alert) {
    let accounts = [&alert.account, &alert.account_name];
    for account in accounts.into_iter().flatten() {
        add(found, account, Kind::Account);
    }
    add(found, &alert.key.account, Kind::Account);
    for indicator in &alert.indicators {
        match indicator.kind {
            IndicatorKind::Principal | IndicatorKind::Email | IndicatorKind::AccessKey => {
                add(found, &indicator.value, Kind::Principal);
            }
            IndicatorKind::Instance
            | IndicatorKind::Cluster
            | IndicatorKind::Database
            | IndicatorKind::Function
            | IndicatorKind::Bucket => add(found, &indicator.value, Kind::Host),
            _ => {}
        }
    }
    for resource in &alert.resources {
        if let Some(name) = &resource.name {
            add(found, name, Kind::Host);
        }
        if !resource.id.contains(['/', ':']) {
            add(found, &resource.id, Kind::Host);
        }
    }
}

fn under_keys(found: &mut BTreeMap<String, Kind>, value: &Value, kind: Option<Kind>) {
    match value {
        Value::String(text) => {
            if let Some(kind) = kind {
                add(found, text, kind);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| under_keys(found, inner, kind)),
        Value::Object(map) => {
            for (key, inner) in map {
                under_keys(found, inner, kind_of(key));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn kind_of(key: &str) -> Option<Kind> {
    let plain: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    KEYS.iter()
        .find(|(name, _)| *name == plain)
        .map(|(_, kind)| *kind)
}

/// Adds a value; of an ARN or a path, the name at its end.
fn add(found: &mut BTreeMap<String, Kind>, value: &str, kind: Kind) {
    let value = value.trim();
    let name = value.rsplit(['/', ':']).next().unwrap_or(value);
    if name != value && !name.contains('@') {
        add(found, name, kind);
        return;
    }
    let value = value.to_lowercase();
    let chars = value.chars().count();
    let is_generic = GENERIC.contains(&value.as_str()) || value.ends_with(".amazonaws.com");
    let is_number = value.parse::<f64>().is_ok() && chars < 6;
    if (SHORTEST..=LONGEST).contains(&chars)
        && !is_generic
        && !is_number
        && value.parse::<std::net::IpAddr>().is_err()
        && found.len() < MOST
    {
        found.entry(value).or_insert(kind);
    }
}
