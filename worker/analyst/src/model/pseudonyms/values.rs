//! Collects the values of a case that are hidden: those that the alert types, and those under known keys of results.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use nightshift_alert::{Alert, IndicatorKind, IndicatorRole};
use serde_json::Value;

use super::super::request_builder::PromptContext;
use super::super::settings::PseudonymSettings;
use super::keys::{is_name_key, kind_of};
use super::names::folded;

/// Kind of a hidden value. The token names it, so that the model still knows what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PseudonymKind {
    Account,
    Principal,
    Host,
    Address,
    Name,
}

impl PseudonymKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Principal => "principal",
            Self::Host => "host",
            Self::Address => "address",
            Self::Name => "name",
        }
    }
}

/// Names that reveal nothing about an organisation. Hiding them would break up ordinary sentences.
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

/// Minimum length of a hidden value, in characters.
const MIN_NAME_CHARS: usize = 3;

/// Maximum length of a hidden value, in characters; a longer one is not a name.
const MAX_NAME_CHARS: usize = 256;

/// Maximum number of values of one question, and of their bytes. The question is not asked above either.
const MAX_NAMES: usize = 4_096;
const MAX_NAME_BYTES: usize = 256 << 10;

/// Values by their folded spelling.
#[derive(Default)]
struct NameCollector {
    kinds: BTreeMap<String, PseudonymKind>,
    bytes: usize,
    /// Names of well-known public hosts, which logs have under the same keys as the organisation's own hosts.
    outside: BTreeSet<String>,
}

/// Returns the names that the operator gave.
pub(super) fn operator_names(settings: &PseudonymSettings) -> BTreeMap<String, PseudonymKind> {
    let mut found = BTreeMap::new();
    for name in &settings.names {
        for value in names_in(name, PseudonymKind::Name) {
            found.insert(value, PseudonymKind::Name);
        }
    }
    found
}

/// Returns the operator's names and the values of a question, or an error when there are too many.
pub(super) fn collect_names(
    own: &BTreeMap<String, PseudonymKind>,
    about: &PromptContext<'_>,
) -> Result<BTreeMap<String, PseudonymKind>, String> {
    let mut found = NameCollector {
        outside: outside(about.alert),
        ..NameCollector::default()
    };
    found.add_alert(about.alert);
    found.add_by_keys(&about.alert.raw.value(), None);
    let calls = about
        .steps
        .iter()
        .chain(about.step)
        .flat_map(|view| &view.calls);
    let evidence = calls.filter_map(|call| call.evidence.as_ref());
    for evidence in evidence.chain(about.past_cases) {
        found.add_by_keys(&evidence.body.value(), None);
    }
    if found.exceeds_limits() {
        return Err(format!(
            "there are more names to hide than pseudonyms are made for ({MAX_NAMES}, {MAX_NAME_BYTES} bytes)"
        ));
    }
    // The operator's kind of a value takes precedence over that of the data.
    found
        .kinds
        .extend(own.iter().map(|(name, kind)| (name.clone(), *kind)));
    Ok(found.kinds)
}

/// Returns the domains that acted or were contacted, as the alert types them.
fn outside(alert: &Alert) -> BTreeSet<String> {
    let indicators = alert.indicators.iter();
    indicators
        .filter(|it| it.kind == IndicatorKind::Domain)
        .filter(|it| matches!(it.role, IndicatorRole::Actor | IndicatorRole::Remote))
        .map(|it| folded(&it.value))
        .collect()
}

impl NameCollector {
    fn add_alert(&mut self, alert: &Alert) {
        let accounts = [&alert.account, &alert.account_name];
        for account in accounts.into_iter().flatten() {
            self.add(account, PseudonymKind::Account);
        }
        self.add(&alert.key.account, PseudonymKind::Account);
        for indicator in &alert.indicators {
            match indicator.kind {
                IndicatorKind::Principal | IndicatorKind::Email | IndicatorKind::AccessKey => {
                    self.add(&indicator.value, PseudonymKind::Principal);
                }
                IndicatorKind::Instance
                | IndicatorKind::Cluster
                | IndicatorKind::Database
                | IndicatorKind::Function
                | IndicatorKind::Bucket => self.add(&indicator.value, PseudonymKind::Host),
                _ => {}
            }
        }
        for resource in &alert.resources {
            if let Some(name) = &resource.name {
                self.add(name, PseudonymKind::Host);
            }
            if !resource.id.contains(['/', ':']) {
                self.add(&resource.id, PseudonymKind::Host);
            }
        }
    }

    fn add_by_keys(&mut self, value: &Value, kind: Option<PseudonymKind>) {
        match value {
            Value::String(text) => {
                if let Some(kind) = kind {
                    self.add(text, kind);
                }
            }
            Value::Array(list) => list.iter().for_each(|inner| self.add_by_keys(inner, kind)),
            Value::Object(map) => {
                for (key, inner) in map {
                    // The name of an object has the kind of the object's own key: `"user": {"name": …}`.
                    let of_object = kind.filter(|_| is_name_key(key));
                    self.add_by_keys(inner, kind_of(key).or(of_object));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add(&mut self, text: &str, kind: PseudonymKind) {
        for value in names_in(text, kind) {
            let is_outside = kind == PseudonymKind::Host && self.outside.contains(&value);
            if !is_outside && !self.exceeds_limits() && !self.kinds.contains_key(&value) {
                self.bytes += value.len();
                self.kinds.insert(value, kind);
            }
        }
    }

    /// Returns whether there are more values than can be hidden. No further ones are taken then.
    fn exceeds_limits(&self) -> bool {
        self.kinds.len() > MAX_NAMES || self.bytes > MAX_NAME_BYTES
    }
}

/// Returns the parts of a text that are hidden, folded, or nothing where the text is not a name.
fn names_in(text: &str, kind: PseudonymKind) -> Vec<String> {
    let folded = name_parts(text, kind)
        .into_iter()
        .map(|it| folded(it.trim()));
    folded.filter(|value| is_name(value)).collect()
}

fn is_name(value: &str) -> bool {
    let chars = value.chars().count();
    let is_number = chars < 6 && value.parse::<f64>().is_ok();
    (MIN_NAME_CHARS..=MAX_NAME_CHARS).contains(&chars)
        && !GENERIC.contains(&value)
        && !value.ends_with(".amazonaws.com")
        && !is_number
        && value.parse::<IpAddr>().is_err()
}

/// Splits a text into candidates: the last name of a resource name or a path, the host of a URL or before a port,
/// else the whole and the parts between colons.
fn name_parts(text: &str, kind: PseudonymKind) -> Vec<&str> {
    let text = text.trim().trim_end_matches('/');
    let url = text.split_once("://").map(|(_, rest)| rest);
    let rest = url.unwrap_or(text.trim_start_matches("//"));
    let first = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if text.starts_with("arn:") || first.ends_with("googleapis.com") {
        return last_segment(text, &['/', ':']);
    }
    let host = first.rsplit('@').next().unwrap_or_default();
    let is_host = url.is_some() || without_port(host) != host;
    if is_host && matches!(kind, PseudonymKind::Host | PseudonymKind::Name) {
        return vec![without_port(host)];
    }
    if url.is_some() {
        return last_segment(rest, &['/']);
    }
    if text.contains('@') && text.contains('/') {
        return vec![text];
    }
    let name = text.rsplit('/').next().unwrap_or(text);
    let name = without_port(name);
    let mut parts = vec![name];
    if name.contains(char::is_whitespace) || name.starts_with("system:") {
        parts.extend(last_segment(name, &[':']));
    } else if name.parse::<IpAddr>().is_err() {
        parts.extend(name.split(':'));
    }
    parts
}

fn last_segment<'a>(text: &'a str, between: &[char]) -> Vec<&'a str> {
    text.rsplit(between).next().into_iter().collect()
}

/// Returns a host without its port, and an IPv6 address without its brackets.
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
