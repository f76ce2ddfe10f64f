//! The action catalogue: what a report may advise.
//!
//! Text, command, side effect and undo stand in templates that we ship or an operator writes. An analyst picks an id
//! and indicators; a value reaches a command only when it is known to the case and safe in a shell as it stands.

use std::sync::Arc;

use nightshift_alert::{
    Alert, DetailKind, Direction, Indicator, IndicatorKind, Provider, Role, is_public,
};
use serde::{Deserialize, Serialize};

use crate::Exoneration;

mod detail;
mod names;
mod object;
mod scope;
mod workload;

/// What a text or a command may name beside the types of indicators.
pub const PLACEHOLDERS: [&str; 18] = [
    "account",
    "region",
    "resource",
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

/// An action as the catalogue holds it. `{name}` in text and command stands for a value: `account`, `region`,
/// `resource`, an indicator type such as `ip` or `instance`, the one stored `object` that it is about, a container of
/// Kubernetes (`workload`) or the one `task` of ECS, a principal as commands of its cloud want it (`user_name`, `role_name`, `sso_role`; `person`, `service_account`) or as CloudTrail names
/// it (`caller_name`), or a key that a user holds (`long_term_key`), and once the alert is cleared who made the finding
/// (`product`) and what a rule that hides its like must name (`scope`). A text that needs one which there is none of leaves
/// the action out. `{security_group}`, `{local_port}` and `{remote_port}` are details of the alert, where it tells one. Behind
/// a bar stands what the reader fills in where a value is not known: `{local_port|$PORT}`. A brace as such is doubled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionTemplate {
    /// Its id.
    pub id: String,
    /// The cloud it applies to; any where none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// What to do, in a sentence.
    pub text: String,
    /// The command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What must be true first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<String>,
    /// What else it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effect: Option<String>,
    /// How to take it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// Whether it is for alerts that a record has cleared, and is left out of every other report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub when_cleared: bool,
}

/// How the ids of actions begin that cut somebody off: they never name what is ours.
const BLOCKS: &str = "block-";

/// What the registers and watch lists of a case say of an address or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is ours, or allowed.
    Ours,
    /// A watch list knows it as bad.
    Bad,
}

/// What a case knows beside its alert.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The indicators that tool results added.
    pub indicators: &'a [Indicator],
    /// What clears the alert.
    pub cleared: &'a [Exoneration],
    /// What registers and lists say of a value.
    pub standing: &'a dyn Fn(&str) -> Option<Standing>,
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known")
            .field("indicators", &self.indicators)
            .field("cleared", &self.cleared)
            .finish_non_exhaustive()
    }
}

impl Default for Known<'_> {
    fn default() -> Self {
        Self {
            indicators: &[],
            cleared: &[],
            standing: &|_| None,
        }
    }
}

/// An analyst's choice from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionChoice {
    /// The action's id.
    pub id: String,
    /// The values it is about; where none of a type is given, the alert's own is taken. An address, a domain or a URL
    /// that the action may not name leaves it out.
    #[serde(default)]
    pub indicators: Vec<Indicator>,
}

/// An action, filled in. Suggested, never executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// The action's id.
    pub id: String,
    /// What to do.
    pub text: String,
    /// The command that does it, ready to paste.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What must be true first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<String>,
    /// What else it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effect: Option<String>,
    /// How to take it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

/// Fills an action in; none where the catalogue has no such action for this alert's cloud, or where its text needs a
/// value that is not known. A command or an undo that lacks a value is left out, and so is a command that is without what
/// must be true first.
#[must_use]
pub fn fill(
    templates: &[Arc<ActionTemplate>],
    choice: &ActionChoice,
    alert: &Alert,
    known: &Known<'_>,
) -> Option<Action> {
    let template = templates.iter().find(|template| {
        template.id == choice.id
            && template
                .provider
                .is_none_or(|provider| provider == alert.provider)
    })?;
    let values = Values {
        choice,
        alert,
        known,
        blocks: template.id.starts_with(BLOCKS),
    };
    let command = values.option(template.command.as_deref(), true);
    // Beside a command it holds commands of its own.
    let precondition = values.option(template.precondition.as_deref(), template.command.is_some());
    let is_told = precondition.is_some() || template.precondition.is_none();
    Some(Action {
        id: template.id.clone(),
        text: values.render(&template.text, false)?,
        command: command.filter(|_| is_told),
        precondition,
        side_effect: values.option(template.side_effect.as_deref(), false),
        undo: values.option(template.undo.as_deref(), true),
    })
}

struct Values<'a> {
    choice: &'a ActionChoice,
    alert: &'a Alert,
    known: &'a Known<'a>,
    blocks: bool,
}

impl Values<'_> {
    fn option(&self, template: Option<&str>, shell: bool) -> Option<String> {
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
            "scope" => scope::of(self.alert, self.known.cleared),
            "region" => self.alert.region.clone(),
            "resource" => self
                .alert
                .resources
                .first()
                .map(|resource| resource.name.as_ref().unwrap_or(&resource.id).clone()),
            "object" => {
                let buckets = self.candidates(IndicatorKind::Bucket);
                object::of(self.alert, buckets.first()?)
            }
            "workload" if workload::is_of_ecs(self.alert) => None,
            "workload" => self.first(IndicatorKind::Container),
            "task" => workload::task(self.alert),
            "user_name" => self.principal(|one| names::user(self.alert, one)),
            "role_name" => self.principal(|one| names::role(self.alert, one)),
            "sso_role" => self.principal(|one| names::sso_role(self.alert, one)),
            "caller_name" => self.principal(|one| names::caller(self.alert, one)),
            "service_account" => self.principal(names::service_account),
            "person" => self.principal(names::person),
            "security_group" => detail::security_group(self.alert),
            "local_port" => detail::port(self.alert, DetailKind::LocalPort),
            "remote_port" => detail::port(self.alert, DetailKind::RemotePort),
            "long_term_key" => {
                let mut keys = self.candidates(IndicatorKind::AccessKey).into_iter();
                keys.find(|key| names::is_long_term(key)).map(str::to_owned)
            }
            _ => {
                let kind = IndicatorKind::ALL
                    .into_iter()
                    .find(|kind| kind.as_str() == name)?;
                self.first(kind)
            }
        }
    }

    fn first(&self, kind: IndicatorKind) -> Option<String> {
        self.candidates(kind).first().map(|&value| value.to_owned())
    }

    /// What the first principal that has it is called.
    fn principal(&self, called: impl Fn(&str) -> Option<String>) -> Option<String> {
        let principals = self.candidates(IndicatorKind::Principal);
        principals.into_iter().find_map(called)
    }

    /// The chosen values that the case knows, else the alert's: its actors, far ends or targets, in that order of interest.
    ///
    /// An address or name that only stands beside them may be our own, and is none to block, unless a watch list knows it as
    /// bad; and where one was chosen that may not be named, another in its place is none that anybody chose. Of several
    /// addresses that which got in comes first.
    ///
    /// What cuts somebody off names a far end or who came from outside: never a target, and never a private address.
    fn candidates(&self, kind: IndicatorKind) -> Vec<&str> {
        let is_network = matches!(
            kind,
            IndicatorKind::Ip | IndicatorKind::Domain | IndicatorKind::Url
        );
        let mut chosen = values(self.choice.indicators.iter(), kind);
        if is_network && !chosen.is_empty() {
            chosen.retain(|value| self.takes_part(kind, value) && self.may_name(value));
            self.put_first_what_got_in(&mut chosen);
            return chosen;
        }
        chosen.retain(|value| {
            let mut known = self.known.indicators.iter();
            self.alert.knows(kind, value)
                || known.any(|one| one.kind == kind && one.value == *value)
        });
        let own = [Role::Actor, Role::Remote, Role::Target, Role::Related]
            .into_iter()
            .filter(|role| !(is_network && *role == Role::Related))
            .filter(|role| !(is_network && self.blocks) || self.is_far_end(*role))
            .map(|role| values(self.alert.with_role(role), kind))
            .map(|mut values| {
                values.retain(|value| !self.blocks || !is_private(value));
                values
            });
        let mut found = std::iter::once(chosen)
            .chain(own)
            .find(|values| !values.is_empty())
            .unwrap_or_default();
        found.retain(|value| !is_network || self.may_name(value));
        self.put_first_what_got_in(&mut found);
        found
    }

    fn put_first_what_got_in(&self, values: &mut [&str]) {
        values.sort_by_key(|value| !self.alert.let_in().any(|inside| inside == *value));
    }

    /// Whether the case knows the value as more than a bystander.
    fn takes_part(&self, kind: IndicatorKind, value: &str) -> bool {
        let all = self.alert.indicators.iter().chain(self.known.indicators);
        let mut known = all.filter(|one| one.kind == kind && one.value == value);
        let is_bad = || (self.known.standing)(value) == Some(Standing::Bad);
        let takes_part = |role| role != Role::Related && (!self.blocks || self.is_far_end(role));
        known.any(|one| takes_part(one.role) || is_bad())
    }

    /// Whether what has this role is the other side; who acts outward is one of ours.
    fn is_far_end(&self, role: Role) -> bool {
        match role {
            Role::Remote => true,
            Role::Actor => self.alert.direction != Some(Direction::Outbound),
            Role::Target | Role::Related => false,
        }
    }

    fn may_name(&self, value: &str) -> bool {
        let is_ours = || (self.known.standing)(value) == Some(Standing::Ours);
        !(self.blocks && (is_private(value) || is_ours()))
    }
}

/// Whether it is an address that is not met on the internet.
fn is_private(value: &str) -> bool {
    value.parse().is_ok_and(|ip| !is_public(ip))
}

fn values<'a>(all: impl Iterator<Item = &'a Indicator>, kind: IndicatorKind) -> Vec<&'a str> {
    all.filter(|one| one.kind == kind)
        .map(|one| one.value.as_str())
        .collect()
}

/// Whether a value may stand in a shell command without quotes: no blank, no quote, nothing that a shell reads, nothing that
/// a program would read as a flag (`-`) or as a file (`@`) and zsh as a program (`=`), and no `://`: the AWS CLI puts what it
/// reads at `file://` or an address in the value's place, and to gcloud a URL names a thing of any project.
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
