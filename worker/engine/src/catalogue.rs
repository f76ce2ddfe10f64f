//! Defines the action catalogue: the actions that a report may advise.
//!
//! Text, command, side effect and undo are templates of Nightshift or of an operator. An analyst picks an id and
//! indicators. A value reaches a command only when the case knows it and a shell reads it as plain text.

use std::sync::Arc;

use nightshift_alert::{
    Alert, CloudProvider, DetailKind, Direction, Indicator, IndicatorKind, IndicatorRole,
    is_public, registrable_domain,
};
use serde::{Deserialize, Serialize};

use crate::exoneration::Exoneration;

mod detail;
mod object;
mod principal_names;
mod suppression_scope;
mod workload;

/// Placeholders that a text or a command may name, besides the types of indicators.
pub const PLACEHOLDERS: [&str; 20] = [
    "account",
    "region",
    "resource",
    "mail",
    "application",
    "object",
    "workload",
    "task",
    "user_name",
    "role_name",
    "sso_role",
    "caller_name",
    "service_account",
    "person",
    "long_term_key",
    "product",
    "scope",
    "security_group",
    "local_port",
    "remote_port",
];

/// An action of the catalogue. `{name}` in text and command is replaced by a value: `account`, `region`, `resource`, or
/// an indicator type such as `ip` or `instance`. `resource` is the first resource, else what the alert is about. `mail`
/// is a mail by its subject or its mailbox, `application` the application that was granted something. `object` is the one stored object of the alert, `workload` a
/// Kubernetes container, `task` the one ECS task. `user_name`, `role_name`, `sso_role`, `person` and `service_account`
/// are a principal as commands of its cloud want it; `caller_name` is its name in CloudTrail. `long_term_key` is a key
/// that a user holds. Once the alert is cleared, `product` is the product that made the finding and `scope` holds the
/// values that a suppression rule must name. `{security_group}`, `{local_port}` and `{remote_port}` are details of the
/// alert. A text that needs an unknown value leaves the action out. The text after a bar is a placeholder that the
/// reader fills in instead: `{local_port|$PORT}`. A literal brace is doubled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionTemplate {
    /// Id of the action.
    pub id: String,
    /// Cloud that the action applies to, or any cloud when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<CloudProvider>,
    /// The advice in one sentence.
    pub text: String,
    /// Command that performs the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Condition that must hold first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<String>,
    /// Side effect of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effect: Option<String>,
    /// The way to undo the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// True if the action is only for alerts that a record has cleared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub when_cleared: bool,
}

/// Prefix of the ids of actions that block somebody. These actions never name a value of the organisation itself.
const BLOCK_PREFIX: &str = "block-";

/// The statement of a case's registers and watch lists about an address or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reputation {
    /// The value belongs to the organisation, or is allowed.
    Own,
    /// A watch list calls the value malicious.
    Malicious,
}

/// Facts of a case besides its alert.
#[derive(Clone, Copy)]
pub struct ActionContext<'a> {
    /// Indicators that tool results added.
    pub indicators: &'a [Indicator],
    /// Records that clear the alert.
    pub clearing_records: &'a [Exoneration],
    /// Returns what registers and watch lists say about a value.
    pub reputation: &'a dyn Fn(&str) -> Option<Reputation>,
}

impl std::fmt::Debug for ActionContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known")
            .field("indicators", &self.indicators)
            .field("cleared", &self.clearing_records)
            .finish_non_exhaustive()
    }
}

impl Default for ActionContext<'_> {
    fn default() -> Self {
        Self {
            indicators: &[],
            clearing_records: &[],
            reputation: &|_| None,
        }
    }
}

/// An analyst's choice from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionChoice {
    /// Id of the action.
    pub id: String,
    /// Values that the action is about. For a type without a value, the alert's own is taken. An address, a domain or
    /// a URL that the action may not name leaves the action out.
    #[serde(default)]
    pub indicators: Vec<Indicator>,
}

/// An action with its values filled in. Actions are suggested, never executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Id of the action.
    pub id: String,
    /// The advice in one sentence.
    pub text: String,
    /// Command that performs the action, ready to paste.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Condition that must hold first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<String>,
    /// Side effect of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effect: Option<String>,
    /// The way to undo the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

/// Fills in an action. Returns `None` when the catalogue has no such action for this alert's cloud, or when the text
/// needs an unknown value. A command or an undo that lacks a value is left out, and so is a command whose
/// precondition lacks one.
#[must_use]
pub fn fill_action(
    templates: &[Arc<ActionTemplate>],
    choice: &ActionChoice,
    alert: &Alert,
    known: &ActionContext<'_>,
) -> Option<Action> {
    let template = templates.iter().find(|template| {
        template.id == choice.id
            && template
                .provider
                .is_none_or(|provider| provider == alert.provider)
    })?;
    let values = PlaceholderValues {
        choice,
        alert,
        known,
        blocks: template.id.starts_with(BLOCK_PREFIX),
    };
    let command = values.render_optional(template.command.as_deref(), true);
    // A precondition of a command holds commands of its own.
    let precondition =
        values.render_optional(template.precondition.as_deref(), template.command.is_some());
    let is_told = precondition.is_some() || template.precondition.is_none();
    Some(Action {
        id: template.id.clone(),
        text: values.render(&template.text, false)?,
        command: command.filter(|_| is_told),
        precondition,
        side_effect: values.render_optional(template.side_effect.as_deref(), false),
        undo: values.render_optional(template.undo.as_deref(), true),
    })
}

struct PlaceholderValues<'a> {
    choice: &'a ActionChoice,
    alert: &'a Alert,
    known: &'a ActionContext<'a>,
    blocks: bool,
}

impl PlaceholderValues<'_> {
    fn render_optional(&self, template: Option<&str>, shell: bool) -> Option<String> {
        template.and_then(|template| self.render(template, shell))
    }

    fn render(&self, template: &str, shell: bool) -> Option<String> {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at_checked(at)?;
            out.push_str(before);
            if let Some(tail) = from.strip_prefix("{{") {
                out.push('{');
                rest = tail;
                continue;
            }
            if let Some(tail) = from.strip_prefix("}}") {
                out.push('}');
                rest = tail;
                continue;
            }
            let (name, tail) = from.strip_prefix('{')?.split_once('}')?;
            let (name, otherwise) = match name.split_once('|') {
                Some((name, otherwise)) => (name, Some(otherwise)),
                None => (name, None),
            };
            let value = self.value(name);
            let value = value.filter(|value| !shell || is_shell_safe(value));
            out.push_str(value.as_deref().or(otherwise)?);
            rest = tail;
        }
        out.push_str(rest);
        Some(out)
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "account" => self.alert.account.clone(),
            "product" => Some(self.alert.product_name()),
            "scope" => suppression_scope::rule_scope(self.alert, self.known.clearing_records),
            "region" => self.alert.region.clone(),
            "resource" => detail::resource(self.alert),
            "mail" => detail::mail(self.alert),
            "application" => detail::application(self.alert),
            "object" => {
                let buckets = self.candidates(IndicatorKind::Bucket);
                object::object_key(self.alert, buckets.first()?)
            }
            "workload" if workload::is_of_ecs(self.alert) => None,
            "workload" => self.first_candidate(IndicatorKind::Container),
            "task" => workload::task(self.alert),
            "user_name" => self.principal(|one| principal_names::user(self.alert, one)),
            "role_name" => self.principal(|one| principal_names::role(self.alert, one)),
            "sso_role" => self.principal(|one| principal_names::sso_role(self.alert, one)),
            "caller_name" => self.principal(|one| principal_names::caller(self.alert, one)),
            "service_account" => self.principal(principal_names::service_account),
            "person" => self.principal(principal_names::person),
            "security_group" => detail::security_group(self.alert),
            "local_port" => detail::port(self.alert, DetailKind::LocalPort),
            "remote_port" => detail::port(self.alert, DetailKind::RemotePort),
            "long_term_key" => {
                let mut keys = self.candidates(IndicatorKind::AccessKey).into_iter();
                keys.find(|key| principal_names::is_long_term(key))
                    .map(str::to_owned)
            }
            _ => {
                let kind = IndicatorKind::ALL
                    .into_iter()
                    .find(|kind| kind.as_str() == name)?;
                let value = self.first_candidate(kind)?;
                match kind {
                    IndicatorKind::Domain if self.blocks => Some(domain_to_block(&value)),
                    _ => Some(value),
                }
            }
        }
    }

    fn first_candidate(&self, kind: IndicatorKind) -> Option<String> {
        self.candidates(kind).first().map(|&value| value.to_owned())
    }

    /// Returns the name of the first principal for which `called` returns one.
    fn principal(&self, called: impl Fn(&str) -> Option<String>) -> Option<String> {
        let principals = self.candidates(IndicatorKind::Principal);
        principals.into_iter().find_map(called)
    }

    /// Returns the chosen values that the case knows, else the alert's actors, far ends or targets, in that order.
    ///
    /// A related address or name may belong to the organisation, so it is not named for blocking unless a watch list
    /// calls it malicious. When a chosen value may not be named, no other value takes its place. Addresses from which
    /// an access succeeded come first, and principals that were only given a right come last.
    ///
    /// Blocking actions name a far end or an external actor, never a target and never a private address.
    fn candidates(&self, kind: IndicatorKind) -> Vec<&str> {
        let is_network = matches!(
            kind,
            IndicatorKind::Ip | IndicatorKind::Domain | IndicatorKind::Url
        );
        let mut chosen = values_of_kind(self.choice.indicators.iter(), kind);
        if is_network && !chosen.is_empty() {
            chosen.retain(|value| self.is_involved(kind, value) && self.may_name(value));
            self.sort_candidates(&mut chosen);
            return chosen;
        }
        chosen.retain(|value| {
            let mut known = self.known.indicators.iter();
            self.alert.has_indicator(kind, value)
                || known.any(|one| one.kind == kind && one.value == *value)
        });
        let own = [
            IndicatorRole::Actor,
            IndicatorRole::Remote,
            IndicatorRole::Target,
            IndicatorRole::Related,
        ]
        .into_iter()
        .filter(|role| !(is_network && *role == IndicatorRole::Related))
        .filter(|role| !(is_network && self.blocks) || self.is_remote_side(*role))
        .map(|role| values_of_kind(self.alert.with_role(role), kind))
        .map(|mut values| {
            values.retain(|value| !self.blocks || !is_private(value));
            values
        });
        let mut found = std::iter::once(chosen)
            .chain(own)
            .find(|values| !values.is_empty())
            .unwrap_or_default();
        found.retain(|value| !is_network || self.may_name(value));
        self.sort_candidates(&mut found);
        found
    }

    fn sort_candidates(&self, values: &mut [&str]) {
        let is_logged_in = |value: &str| self.alert.logged_in_values().any(|one| one == value);
        values.sort_by_key(|value| (self.alert.is_only_grantee(value), !is_logged_in(value)));
    }

    /// Returns whether the case knows the value in a role other than `related`.
    fn is_involved(&self, kind: IndicatorKind, value: &str) -> bool {
        let all = self.alert.indicators.iter().chain(self.known.indicators);
        let mut known = all.filter(|one| one.kind == kind && one.value == value);
        let is_bad = || (self.known.reputation)(value) == Some(Reputation::Malicious);
        let takes_part =
            |role| role != IndicatorRole::Related && (!self.blocks || self.is_remote_side(role));
        known.any(|one| takes_part(one.role) || is_bad())
    }

    /// Returns whether this role is the other side of the alert. The actor of an outward alert belongs to the
    /// organisation.
    fn is_remote_side(&self, role: IndicatorRole) -> bool {
        match role {
            IndicatorRole::Remote => true,
            IndicatorRole::Actor => self.alert.direction != Some(Direction::Outbound),
            IndicatorRole::Target | IndicatorRole::Related => false,
        }
    }

    fn may_name(&self, value: &str) -> bool {
        let is_ours = || (self.known.reputation)(value) == Some(Reputation::Own);
        !(self.blocks && (is_private(value) || is_ours()))
    }
}

/// Minimum length of a first label that carries data instead of naming a host.
const MIN_DATA_LABEL_CHARS: usize = 24;

/// Returns the domain to block. A name that carries data is asked for once, so the domain that its owner registered
/// is blocked instead.
fn domain_to_block(name: &str) -> String {
    let first = name.split('.').next().unwrap_or_default();
    let registered = registrable_domain(name).filter(|_| first.len() >= MIN_DATA_LABEL_CHARS);
    registered.unwrap_or(name).to_owned()
}

/// Returns whether the value is an address that is not routed on the internet.
fn is_private(value: &str) -> bool {
    value.parse().is_ok_and(|ip| !is_public(ip))
}

fn values_of_kind<'a>(
    all: impl Iterator<Item = &'a Indicator>,
    kind: IndicatorKind,
) -> Vec<&'a str> {
    all.filter(|one| one.kind == kind)
        .map(|one| one.value.as_str())
        .collect()
}

/// Returns whether a value may be put into a shell command without quotes. The value may hold no blank, quote or shell
/// character. The value may not begin like a flag (`-`), a file (`@`) or, in zsh, a program (`=`). The value may not
/// hold `://`: the AWS CLI replaces `file://` and web addresses by their content, and for gcloud a URL names a resource
/// of any project.
fn is_shell_safe(value: &str) -> bool {
    !value.is_empty()
        && !value.starts_with(['-', '@', '='])
        && !value.contains("://")
        && value.len() <= 256
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._:/@+=-".contains(c))
}

#[cfg(test)]
mod tests;
