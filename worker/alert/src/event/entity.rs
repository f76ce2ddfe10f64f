//! Who acted and what it was done to, as people say it.

use crate::text::{cut, single_line};
use crate::{
    Alert, DetailKind, Indicator, IndicatorKind, Principal, PrincipalKind, Resource, Role,
};

/// Most characters of a name.
const MOST_CHARS: usize = 80;
/// Most values of a list that are named.
const MOST_NAMED: usize = 2;
/// Kinds that say who somebody is, not where or what.
const IDENTITIES: [IndicatorKind; 3] = [
    IndicatorKind::Principal,
    IndicatorKind::Email,
    IndicatorKind::AccessKey,
];

/// Kinds that somebody may act from.
const MACHINES: [IndicatorKind; 3] = [
    IndicatorKind::Instance,
    IndicatorKind::Container,
    IndicatorKind::Function,
];

/// Says who acted: a person before the identity that the person used, an identity before an address or a machine.
pub(super) fn actor(alert: &Alert) -> Option<String> {
    let addresses = values(alert, Role::Actor, IndicatorKind::Ip);
    identity(alert)
        .or_else(|| (!addresses.is_empty()).then(|| named(&addresses)))
        .or_else(|| thing(alert))
}

/// Says from where an identity acted, by addresses, else by machines: `, from 198.51.100.9`.
pub(super) fn origin(alert: &Alert) -> String {
    let addresses = values(alert, Role::Actor, IndicatorKind::Ip);
    let machines: Vec<String> = alert
        .with_role(Role::Actor)
        .filter(|one| MACHINES.contains(&one.kind))
        .map(|one| name_of(alert, one))
        .collect();
    let places = match addresses.is_empty() {
        true => machines.iter().map(String::as_str).collect(),
        false => addresses,
    };
    match places.is_empty() || identity(alert).is_none() {
        true => String::new(),
        false => format!(", from {}", named(&places)),
    }
}

/// A person, a principal, a mailbox or a key.
fn identity(alert: &Alert) -> Option<String> {
    let people: Vec<&str> = alert.details_of(DetailKind::Session).collect();
    let principals = values(alert, Role::Actor, IndicatorKind::Principal);
    let shared: Vec<String> = principals
        .iter()
        .filter(|one| !people.contains(one))
        .map(|one| principal(alert, one))
        .collect();
    if let (false, Some(shared)) = (people.is_empty(), shared.first()) {
        return Some(format!("{}, as {shared},", named(&people)));
    }
    if !people.is_empty() {
        return Some(named(&people));
    }
    let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
    let mails = values(alert, Role::Actor, IndicatorKind::Email);
    let keys = values(alert, Role::Actor, IndicatorKind::AccessKey);
    [shared, mails]
        .into_iter()
        .find(|all| !all.is_empty())
        .map(|all| named(&all))
        .or_else(|| keys.first().map(|key| format!("access key {}", short(key))))
}

/// A machine, a process or whatever else acted.
fn thing(alert: &Alert) -> Option<String> {
    let mut actors = alert.with_role(Role::Actor);
    actors
        .find(|one| !was_given(alert, &one.value))
        .map(|one| name_of(alert, one))
}

/// A principal without what only a machine reads of its ARN; one of another account with that account.
fn principal(alert: &Alert, name: &str) -> String {
    let mut told = alert.principals.iter().filter(|one| one.name == name);
    let told = told.next();
    if told.is_some_and(|one| one.kind == PrincipalKind::Root) {
        return "the root user".to_owned();
    }
    if let Some(session) = told.and_then(Principal::session) {
        return format!("role {} (session {})", short(name), short(session));
    }
    let Some(rest) = name.strip_prefix("arn:") else {
        return short(name);
    };
    let mut parts = rest.splitn(5, ':');
    let (account, path) = (parts.nth(3).unwrap_or_default(), parts.next());
    let path = path.unwrap_or(name);
    let said = match path.split_once('/') {
        Some(("assumed-role", rest)) => match rest.split_once('/') {
            Some((role, session)) => format!("role {} (session {})", short(role), short(session)),
            None => format!("role {}", short(rest)),
        },
        Some((_, rest)) => short(rest.rsplit('/').next().unwrap_or(rest)),
        None if path == "root" => "the root user".to_owned(),
        None => short(path),
    };
    match alert.account.as_deref() {
        Some(ours) if !account.is_empty() && ours != account => {
            format!("{said} of account {}", short(account))
        }
        _ => said,
    }
}

/// Says what it was done to: the first resource, else machine, else target, that is no identity which acted, of a kind that
/// has this word in it; `-` for any kind.
pub(super) fn object(alert: &Alert, word: &str) -> Option<String> {
    let fits = |kind: &str| {
        let kind = kind.to_ascii_lowercase().replace(['_', ' ', '-'], "");
        word == "-" || !word.is_empty() && kind.contains(word)
    };
    let others = || alert.resources.iter().filter(|one| !alert.is_actor(one));
    let resource = others().find(|one| fits(&one.kind));
    let in_role = |role| {
        let mut all = alert.with_role(role);
        all.find(|one| fits(word_of(one.kind)) && !acted(alert, &one.value))
    };
    let principal = |role| {
        let mut all = alert.with_role(role);
        all.find(|one| {
            matches!(word, "user" | "role" | "serviceaccount")
                && one.kind == IndicatorKind::Principal
                && !acted(alert, &one.value)
                && !is_unique_id(&one.value)
        })
    };
    let machine = || {
        let mut all = alert.with_role(Role::Target);
        all.find(|one| MACHINES.contains(&one.kind) && fits(word_of(one.kind)))
    };
    resource
        .map(name_of_resource)
        .or_else(|| machine().map(|one| name_of(alert, one)))
        .or_else(|| in_role(Role::Target).map(|one| name_of(alert, one)))
        .or_else(|| principal(Role::Target).map(|one| short(&one.value)))
        .or_else(|| principal(Role::Related).map(|one| short(&one.value)))
}

/// The machine, account or data that a finding about the network or a check concerns.
pub(super) fn concerned(alert: &Alert) -> Option<String> {
    object(alert, "-")
}

/// Word by which operations find a target of a kind.
const fn word_of(kind: IndicatorKind) -> &'static str {
    match kind {
        IndicatorKind::Database => "dbinstance",
        other => other.as_str(),
    }
}

/// Whether this is one of AWS's ids for who acted, which stand beside a name.
fn is_unique_id(value: &str) -> bool {
    ["AIDA", "AROA", "ASIA", "AKIA"]
        .iter()
        .any(|head| value.starts_with(head))
}

fn acted(alert: &Alert, value: &str) -> bool {
    alert.with_role(Role::Actor).any(|one| one.value == value)
}

impl Alert {
    /// What it was done to, by name: the first resource that is no identity which acted, else the first such target.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        let mut resources = self.resources.iter().filter(|one| !self.is_actor(one));
        let mut targets = self
            .with_role(Role::Target)
            .filter(|one| !acted(self, &one.value));
        resources
            .next()
            .map(|one| one.name.as_deref().unwrap_or(&one.id))
            .or_else(|| targets.next().map(|one| one.value.as_str()))
    }

    /// Whether a resource is the identity that acted, or its key.
    #[must_use]
    pub fn is_actor(&self, resource: &Resource) -> bool {
        let mut actors = self.with_role(Role::Actor);
        actors.any(|one| {
            IDENTITIES.contains(&one.kind)
                && [
                    Some(resource.id.as_str()),
                    resource.name.as_deref(),
                    Some(resource.short_id()),
                ]
                .contains(&Some(one.value.as_str()))
        })
    }
}

pub(super) fn name_of_resource(resource: &Resource) -> String {
    short(resource.name.as_deref().unwrap_or(resource.short_id()))
}

/// An indicator by the name that a resource gives it.
fn name_of(alert: &Alert, one: &Indicator) -> String {
    let mut resources = alert.resources.iter();
    let resource = resources.find(|resource| resource.id == one.value);
    resource.map_or_else(|| short(&one.value), name_of_resource)
}

/// Returns whether the feed tells of somebody only that they were given a right. They count as who acted, and did nothing.
fn was_given(alert: &Alert, value: &str) -> bool {
    let mut callers = alert.callers.iter();
    let mut grantees = alert.details_of(DetailKind::Grantee);
    grantees.any(|one| one == value) && !callers.any(|one| one.principal.as_deref() == Some(value))
}

/// Says who was given a right: `, granted to mallory`.
pub(super) fn granted(alert: &Alert) -> String {
    let grantees = alert.details_of(DetailKind::Grantee);
    let grantees: Vec<&str> = grantees.filter(|one| was_given(alert, one)).collect();
    match grantees.is_empty() {
        true => String::new(),
        false => format!(", granted to {}", named(&grantees)),
    }
}

/// Returns the principals that it was done to.
pub(super) fn victims(alert: &Alert) -> Vec<&str> {
    let mut all = values(alert, Role::Target, IndicatorKind::Principal);
    all.retain(|one| !acted(alert, one) && !is_unique_id(one));
    all
}

/// The values of one role and kind, without those who only were given a right.
pub(super) fn values(alert: &Alert, role: Role, kind: IndicatorKind) -> Vec<&str> {
    alert
        .with_role(role)
        .filter(|one| one.kind == kind)
        .map(|one| one.value.as_str())
        .filter(|one| role != Role::Actor || !was_given(alert, one))
        .collect()
}

/// The first of these, and how many more there are.
pub(super) fn named(values: &[&str]) -> String {
    let first: Vec<String> = values
        .iter()
        .take(MOST_NAMED)
        .map(|one| short(one))
        .collect();
    match values.len().saturating_sub(MOST_NAMED) {
        0 => first.join(" and "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// One line of bounded length.
pub(super) fn short(value: &str) -> String {
    cut(&single_line(value), MOST_CHARS).into_owned()
}
