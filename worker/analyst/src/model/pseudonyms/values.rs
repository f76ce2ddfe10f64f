//! Which values of a case are hidden: those that the alert types, and those under telling keys of results.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use nightshift_alert::{Alert, IndicatorKind, Role};
use serde_json::Value;

use super::super::frame::About;
use super::super::settings::PseudonymSettings;
use super::keys::{is_called, kind_of};
use super::names::folded;

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
    "group",
    "domain",
    "serviceaccount",
    "localhost",
    "latest",
    "guest",
    "daemon",
    "www-data",
    "nginx",
    "apache",
    "postgres",
    "mysql",
    "redis",
    "sshd",
    "node",
    "staff",
    "users",
    "local service",
    "network service",
    "nt authority\\system",
    "nt authority",
];

/// Shortest value that is hidden, in characters.
const SHORTEST: usize = 3;

/// Longest value that is hidden, in characters: a longer one is no name.
const LONGEST: usize = 256;

/// Most values of one question, and most bytes of them: beyond that the question is not asked.
const MOST: usize = 4_096;
const MOST_BYTES: usize = 256 << 10;

/// Values by their folded spelling.
#[derive(Default)]
struct Values {
    kinds: BTreeMap<String, Kind>,
    bytes: usize,
    /// Names of the outside world: logs have them under the same keys as hosts of one's own.
    outside: BTreeSet<String>,
}

/// The names that the operator gave.
pub(super) fn own(settings: &PseudonymSettings) -> BTreeMap<String, Kind> {
    let mut found = BTreeMap::new();
    for name in &settings.names {
        for value in values(name, Kind::Name) {
            found.insert(value, Kind::Name);
        }
    }
    found
}

/// These and the values of a question.
///
/// # Errors
///
/// When there are too many of them, in words.
pub(super) fn of(
    own: &BTreeMap<String, Kind>,
    about: &About<'_>,
) -> Result<BTreeMap<String, Kind>, String> {
    let mut found = Values {
        outside: outside(about.alert),
        ..Values::default()
    };
    found.of_alert(about.alert);
    found.under_keys(&about.alert.raw.value(), None);
    let calls = about
        .steps
        .iter()
        .chain(about.step)
        .flat_map(|view| &view.calls);
    let evidence = calls.filter_map(|call| call.evidence.as_ref());
    for evidence in evidence.chain(about.past) {
        found.under_keys(&evidence.body.value(), None);
    }
    if found.is_too_much() {
        return Err(format!(
            "there are more names to hide than pseudonyms are made for ({MOST}, {MOST_BYTES} bytes)"
        ));
    }
    // What the operator calls a value goes before what the data calls it.
    found
        .kinds
        .extend(own.iter().map(|(name, kind)| (name.clone(), *kind)));
    Ok(found.kinds)
}

/// The domains that acted, or were talked to, as the alert types them.
fn outside(alert: &Alert) -> BTreeSet<String> {
    let indicators = alert.indicators.iter();
    indicators
        .filter(|it| it.kind == IndicatorKind::Domain)
        .filter(|it| matches!(it.role, Role::Actor | Role::Remote))
        .map(|it| folded(&it.value))
        .collect()
}

impl Values {
    fn of_alert(&mut self, alert: &Alert) {
        let accounts = [&alert.account, &alert.account_name];
        for account in accounts.into_iter().flatten() {
            self.add(account, Kind::Account);
        }
        self.add(&alert.key.account, Kind::Account);
        for indicator in &alert.indicators {
            match indicator.kind {
                IndicatorKind::Principal | IndicatorKind::Email | IndicatorKind::AccessKey => {
                    self.add(&indicator.value, Kind::Principal);
                }
                IndicatorKind::Instance
                | IndicatorKind::Cluster
                | IndicatorKind::Database
                | IndicatorKind::Function
                | IndicatorKind::Bucket => self.add(&indicator.value, Kind::Host),
                _ => {}
            }
        }
        for resource in &alert.resources {
            if let Some(name) = &resource.name {
                self.add(name, Kind::Host);
            }
            if !resource.id.contains(['/', ':']) {
                self.add(&resource.id, Kind::Host);
            }
        }
    }

    fn under_keys(&mut self, value: &Value, kind: Option<Kind>) {
        match value {
            Value::String(text) => {
                if let Some(kind) = kind {
                    self.add(text, kind);
                }
            }
            Value::Array(list) => list.iter().for_each(|inner| self.under_keys(inner, kind)),
            Value::Object(map) => {
                for (key, inner) in map {
                    // What an object is called is of the kind of its own key: `"user": {"name": …}`.
                    let of_object = kind.filter(|_| is_called(key));
                    self.under_keys(inner, kind_of(key).or(of_object));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add(&mut self, text: &str, kind: Kind) {
        for value in values(text, kind) {
            let is_outside = kind == Kind::Host && self.outside.contains(&value);
            if !is_outside && !self.is_too_much() && !self.kinds.contains_key(&value) {
                self.bytes += value.len();
                self.kinds.insert(value, kind);
            }
        }
    }

    /// Whether these are more than are hidden; then no more are taken.
    fn is_too_much(&self) -> bool {
        self.kinds.len() > MOST || self.bytes > MOST_BYTES
    }
}

/// What is hidden of a text, folded; none of it where that is no name.
fn values(text: &str, kind: Kind) -> Vec<String> {
    let folded = parts(text, kind).into_iter().map(|it| folded(it.trim()));
    folded.filter(|value| is_name(value)).collect()
}

fn is_name(value: &str) -> bool {
    let chars = value.chars().count();
    let is_number = chars < 6 && value.parse::<f64>().is_ok();
    (SHORTEST..=LONGEST).contains(&chars)
        && !GENERIC.contains(&value)
        && !value.ends_with(".amazonaws.com")
        && !is_number
        && value.parse::<IpAddr>().is_err()
}

/// Of a resource name and of a path the name at its end, of a URL and what has a port the host, of other things all and what
/// stands between colons.
fn parts(text: &str, kind: Kind) -> Vec<&str> {
    let text = text.trim().trim_end_matches('/');
    let url = text.split_once("://").map(|(_, rest)| rest);
    let rest = url.unwrap_or(text.trim_start_matches("//"));
    let first = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if text.starts_with("arn:") || first.ends_with("googleapis.com") {
        return last(text, &['/', ':']);
    }
    let host = first.rsplit('@').next().unwrap_or_default();
    let is_host = url.is_some() || without_port(host) != host;
    if is_host && matches!(kind, Kind::Host | Kind::Name) {
        return vec![without_port(host)];
    }
    if url.is_some() {
        return last(rest, &['/']);
    }
    if text.contains('@') && text.contains('/') {
        return vec![text];
    }
    let name = text.rsplit('/').next().unwrap_or(text);
    let name = without_port(name);
    let mut parts = vec![name];
    if name.contains(char::is_whitespace) || name.starts_with("system:") {
        parts.extend(last(name, &[':']));
    } else if name.parse::<IpAddr>().is_err() {
        parts.extend(name.split(':'));
    }
    parts
}

fn last<'a>(text: &'a str, between: &[char]) -> Vec<&'a str> {
    text.rsplit(between).next().into_iter().collect()
}

/// A host without the port behind it, and an address of version 6 without its brackets.
fn without_port(host: &str) -> &str {
    let front = match host.rsplit_once(':') {
        Some((front, port)) if is_port(port) && (!front.contains(':') || front.ends_with(']')) => {
            front
        }
        _ => host,
    };
    let bare = front.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    bare.unwrap_or(front)
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}
