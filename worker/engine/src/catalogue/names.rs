//! A principal as commands of its cloud want it: a user is none of a role's commands, and a role none of a user's.
//!
//! A bare name may be either's, so the kind that the feed told decides; where it told none, the alert's keys do: temporary
//! ones are a session's, long-term ones a user's. What fits no command gives no name, and the action is left out.

use nightshift_alert::{Alert, IndicatorKind, Principal, PrincipalKind};

use crate::cloud_name::resource;

/// What long-term keys and temporary ones begin with.
///
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids>
const LONG_TERM: &str = "AKIA";
const TEMPORARY: &str = "ASIA";
/// Roles that only the service which made them can change begin so.
const OF_SSO: &str = "AWSReservedSSO_";
const OF_SERVICES: &str = "AWSServiceRoleFor";

/// The name of a user of the alert's account.
pub(super) fn user(alert: &Alert, principal: &str) -> Option<String> {
    name(alert, principal, PrincipalKind::User)
}

/// The name of a role of the alert's account that can be changed there.
pub(super) fn role(alert: &Alert, principal: &str) -> Option<String> {
    name(alert, principal, PrincipalKind::Role)
        .filter(|name| !name.starts_with(OF_SSO) && !name.starts_with(OF_SERVICES))
}

/// The name of a role that IAM Identity Center made.
pub(super) fn sso_role(alert: &Alert, principal: &str) -> Option<String> {
    name(alert, principal, PrincipalKind::Role).filter(|name| name.starts_with(OF_SSO))
}

/// What CloudTrail calls a principal: a user by its name, a role by that of its session.
pub(super) fn caller(alert: &Alert, principal: &str) -> Option<String> {
    if principal.starts_with("arn:") {
        return match resource(principal) {
            Some(("assumed-role", path)) => Some(path.split_once('/')?.1.to_owned()),
            _ => in_arn(principal, PrincipalKind::User),
        };
    }
    let session = told(alert, principal).find_map(Principal::session);
    let session = session.map(str::to_owned);
    session.or_else(|| name(alert, principal, PrincipalKind::User))
}

/// Whether a key is one that a user holds until somebody deactivates it.
pub(super) fn is_long_term(key: &str) -> bool {
    key.starts_with(LONG_TERM)
}

/// The mailbox of a service account of Google Cloud.
pub(super) fn service_account(principal: &str) -> Option<String> {
    is_service_account(principal).then(|| principal.to_owned())
}

/// The mailbox of somebody who is no service account.
pub(super) fn person(principal: &str) -> Option<String> {
    (principal.contains('@') && !is_service_account(principal)).then(|| principal.to_owned())
}

fn is_service_account(principal: &str) -> bool {
    principal.contains('@') && principal.ends_with("gserviceaccount.com")
}

fn name(alert: &Alert, principal: &str, kind: PrincipalKind) -> Option<String> {
    if principal.starts_with("arn:") {
        let account = principal.split(':').nth(4)?;
        let is_here = alert.account.as_deref().is_none_or(|ours| ours == account);
        return in_arn(principal, kind).filter(|_| is_here);
    }
    (is_name(principal) && may_be(alert, principal, kind)).then(|| principal.to_owned())
}

fn told<'a>(alert: &'a Alert, name: &'a str) -> impl Iterator<Item = &'a Principal> {
    alert.principals.iter().filter(move |one| one.name == name)
}

fn may_be(alert: &Alert, name: &str, kind: PrincipalKind) -> bool {
    let mut told = told(alert, name).peekable();
    if told.peek().is_some() {
        return told.any(|one| one.kind == kind);
    }
    let other = match kind {
        PrincipalKind::User => TEMPORARY,
        _ => LONG_TERM,
    };
    let keys = || {
        let all = alert.indicators.iter();
        all.filter(|one| one.kind == IndicatorKind::AccessKey)
    };
    keys().next().is_none() || keys().any(|key| !key.value.starts_with(other))
}

/// Whether IAM would have it as a name; a unique id is none.
fn is_name(text: &str) -> bool {
    let is_id = ["AIDA", "AROA"].iter().any(|head| text.starts_with(head));
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    text.chars().all(fits) && !(is_id && text.len() >= 16)
}

/// The name in an ARN of this kind; none in one of another.
fn in_arn(arn: &str, wanted: PrincipalKind) -> Option<String> {
    let (kind, path) = resource(arn)?;
    // A session is called `assumed-role/NAME/SESSION`; anything else may have a path before its name.
    let (its, name) = match kind {
        "user" => (PrincipalKind::User, path.rsplit('/').next()?),
        "role" => (PrincipalKind::Role, path.rsplit('/').next()?),
        "assumed-role" => (PrincipalKind::Role, path.split('/').next()?),
        _ => return None,
    };
    (its == wanted).then(|| name.to_owned())
}
