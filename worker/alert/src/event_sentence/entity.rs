//! Names the actor and the object of an alert for people.

use crate::text::{single_line, truncate};
use crate::{
    Alert, DetailKind, Indicator, IndicatorKind, IndicatorRole, Principal, PrincipalKind, Resource,
};

/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 80;
/// Maximum number of values that are named from a list.
const MAX_NAMED: usize = 2;
/// Kinds that identify a person or principal, not a place or an object.
const IDENTITIES: [IndicatorKind; 3] = [
    IndicatorKind::Principal,
    IndicatorKind::Email,
    IndicatorKind::AccessKey,
];

/// Kinds of machines that an actor may act from.
const MACHINES: [IndicatorKind; 3] = [
    IndicatorKind::Instance,
    IndicatorKind::Container,
    IndicatorKind::Function,
];

/// Returns the actor: a person before the identity that the person used, an identity before an address or a machine.
pub(super) fn actor(alert: &Alert) -> Option<String> {
    let addresses = values_in_role(alert, IndicatorRole::Actor, IndicatorKind::Ip);
    identity(alert)
        .or_else(|| (!addresses.is_empty()).then(|| join_names(&addresses)))
        .or_else(|| other_actor(alert))
}

/// Returns the origin of an identity's action, by addresses, else by machines: `, from 198.51.100.9`.
pub(super) fn origin(alert: &Alert) -> String {
    let addresses = values_in_role(alert, IndicatorRole::Actor, IndicatorKind::Ip);
    let machines: Vec<String> = alert
        .with_role(IndicatorRole::Actor)
        .filter(|one| MACHINES.contains(&one.kind))
        .map(|one| name_of(alert, one))
        .collect();
    let places = match addresses.is_empty() {
        true => machines.iter().map(String::as_str).collect(),
        false => addresses,
    };
    match places.is_empty() || identity(alert).is_none() {
        true => String::new(),
        false => format!(", from {}", join_names(&places)),
    }
}

/// Returns a person, a principal, a mailbox or a key.
fn identity(alert: &Alert) -> Option<String> {
    let people: Vec<&str> = alert.details_of(DetailKind::Session).collect();
    let principals = values_in_role(alert, IndicatorRole::Actor, IndicatorKind::Principal);
    let shared: Vec<String> = principals
        .iter()
        .filter(|one| !people.contains(one))
        .map(|one| principal(alert, one))
        .collect();
    if let (false, Some(shared)) = (people.is_empty(), shared.first()) {
        return Some(format!("{}, as {shared},", join_names(&people)));
    }
    if !people.is_empty() {
        return Some(join_names(&people));
    }
    let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
    let mails = values_in_role(alert, IndicatorRole::Actor, IndicatorKind::Email);
    let keys = values_in_role(alert, IndicatorRole::Actor, IndicatorKind::AccessKey);
    [shared, mails]
        .into_iter()
        .find(|all| !all.is_empty())
        .map(|all| join_names(&all))
        .or_else(|| {
            keys.first()
                .map(|key| format!("access key {}", short_line(key)))
        })
}

/// Returns a machine, a process or another actor that is no identity.
fn other_actor(alert: &Alert) -> Option<String> {
    let mut actors = alert.with_role(IndicatorRole::Actor);
    actors
        .find(|one| !alert.is_only_grantee(&one.value))
        .map(|one| name_of(alert, one))
}

/// Returns a principal by the readable part of its ARN, with the account when that is another one.
fn principal(alert: &Alert, name: &str) -> String {
    let mut told = alert.principals.iter().filter(|one| one.name == name);
    let told = told.next();
    if told.is_some_and(|one| one.kind == PrincipalKind::Root) {
        return "the root user".to_owned();
    }
    if let Some(session) = told.and_then(Principal::session) {
        return format!(
            "role {} (session {})",
            short_line(name),
            short_line(session)
        );
    }
    let Some(rest) = name.strip_prefix("arn:") else {
        return short_line(name);
    };
    let mut parts = rest.splitn(5, ':');
    let (account, path) = (parts.nth(3).unwrap_or_default(), parts.next());
    let path = path.unwrap_or(name);
    let said = match path.split_once('/') {
        Some(("assumed-role", rest)) => match rest.split_once('/') {
            Some((role, session)) => format!(
                "role {} (session {})",
                short_line(role),
                short_line(session)
            ),
            None => format!("role {}", short_line(rest)),
        },
        Some((_, rest)) => short_line(rest.rsplit('/').next().unwrap_or(rest)),
        // The principal of an account stands for anybody in it.
        None if path == "root" && told.is_some() => {
            return format!("account {}", short_line(account));
        }
        None if path == "root" => "the root user".to_owned(),
        None => short_line(path),
    };
    match alert.account.as_deref() {
        Some(ours) if !account.is_empty() && ours != account => {
            format!("{said} of account {}", short_line(account))
        }
        _ => said,
    }
}

/// Returns the object of the action: the first resource, else machine, else target, that is not an acting identity and
/// whose kind contains this word. `-` matches any kind.
pub(super) fn object(alert: &Alert, word: &str) -> Option<String> {
    let fits = |kind: &str| {
        let kind = kind.to_ascii_lowercase().replace(['_', ' ', '-'], "");
        word == "-" || !word.is_empty() && kind.contains(word)
    };
    let others = || alert.resources.iter().filter(|one| !alert.is_actor(one));
    let resource = others().find(|one| fits(&one.kind));
    let in_role = |role| {
        let mut all = alert.with_role(role);
        all.find(|one| fits(target_word(one.kind)) && !is_actor_value(alert, &one.value))
    };
    let principal = |role| {
        let mut all = alert.with_role(role);
        all.find(|one| {
            matches!(word, "user" | "role" | "serviceaccount")
                && one.kind == IndicatorKind::Principal
                && !is_actor_value(alert, &one.value)
                && !is_unique_id(&one.value)
        })
    };
    let machine = || {
        let mut all = alert.with_role(IndicatorRole::Target);
        all.find(|one| MACHINES.contains(&one.kind) && fits(target_word(one.kind)))
    };
    resource
        .map(name_of_resource)
        .or_else(|| machine().map(|one| name_of(alert, one)))
        .or_else(|| in_role(IndicatorRole::Target).map(|one| name_of(alert, one)))
        .or_else(|| principal(IndicatorRole::Target).map(|one| short_line(&one.value)))
        .or_else(|| principal(IndicatorRole::Related).map(|one| short_line(&one.value)))
}

/// Returns the machine, account or data that a network finding or a check concerns.
pub(super) fn affected_object(alert: &Alert) -> Option<String> {
    object(alert, "-")
}

/// Returns the word by which operations find a target of a kind.
const fn target_word(kind: IndicatorKind) -> &'static str {
    match kind {
        IndicatorKind::Database => "dbinstance",
        other => other.as_str(),
    }
}

/// Returns whether a value is one of AWS's unique ids, which accompany the name of an actor.
fn is_unique_id(value: &str) -> bool {
    ["AIDA", "AROA", "ASIA", "AKIA"]
        .iter()
        .any(|head| value.starts_with(head))
}

fn is_actor_value(alert: &Alert, value: &str) -> bool {
    alert
        .with_role(IndicatorRole::Actor)
        .any(|one| one.value == value)
}

impl Alert {
    /// Returns the name of the object: the first resource that is not an acting identity, else the first such target.
    #[must_use]
    pub fn object(&self) -> Option<&str> {
        let mut resources = self.resources.iter().filter(|one| !self.is_actor(one));
        let mut targets = self
            .with_role(IndicatorRole::Target)
            .filter(|one| !is_actor_value(self, &one.value));
        resources
            .next()
            .map(|one| one.name.as_deref().unwrap_or(&one.id))
            .or_else(|| targets.next().map(|one| one.value.as_str()))
    }

    /// Returns whether a resource is the identity that acted, or its key.
    #[must_use]
    pub fn is_actor(&self, resource: &Resource) -> bool {
        let mut actors = self.with_role(IndicatorRole::Actor);
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
    short_line(resource.name.as_deref().unwrap_or(resource.short_id()))
}

/// Returns an indicator by its resource's display name.
fn name_of(alert: &Alert, one: &Indicator) -> String {
    let mut resources = alert.resources.iter();
    let resource = resources.find(|resource| resource.id == one.value);
    resource.map_or_else(|| short_line(&one.value), name_of_resource)
}

/// Returns who was given a right: `, granted to mallory`.
pub(super) fn grant_suffix(alert: &Alert) -> String {
    let grantees = alert.details_of(DetailKind::Grantee);
    let grantees: Vec<&str> = grantees.filter(|one| alert.is_only_grantee(one)).collect();
    match grantees.is_empty() {
        true => String::new(),
        false => format!(", granted to {}", join_names(&grantees)),
    }
}

/// Returns the principals that are targets of the action.
pub(super) fn affected_principals(alert: &Alert) -> Vec<&str> {
    let mut all = values_in_role(alert, IndicatorRole::Target, IndicatorKind::Principal);
    all.retain(|one| !is_actor_value(alert, one) && !is_unique_id(one));
    all
}

/// Returns the values of one role and kind, without principals that were only given a right.
pub(super) fn values_in_role(alert: &Alert, role: IndicatorRole, kind: IndicatorKind) -> Vec<&str> {
    alert
        .with_role(role)
        .filter(|one| one.kind == kind)
        .map(|one| one.value.as_str())
        .filter(|one| role != IndicatorRole::Actor || !alert.is_only_grantee(one))
        .collect()
}

/// Returns the first values and the number of the remaining ones.
pub(super) fn join_names(values: &[&str]) -> String {
    let first: Vec<String> = values
        .iter()
        .take(MAX_NAMED)
        .map(|one| short_line(one))
        .collect();
    match values.len().saturating_sub(MAX_NAMED) {
        0 => first.join(" and "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Returns the value as one line of bounded length.
pub(super) fn short_line(value: &str) -> String {
    truncate(&single_line(value), MAX_NAME_CHARS).into_owned()
}
