//! Writes principal names as commands of their cloud take them. Commands for users do not work on roles, nor the
//! reverse.
//!
//! A bare name may be either, so the feed's kind decides. Without one, the alert's keys do: temporary keys belong to a
//! session, long-term keys to a user. A principal that fits no command gives no name, and the action is left out.

use nightshift_alert::{Alert, IndicatorKind, Principal, PrincipalKind};

use crate::cloud_name::resource;

/// Prefixes of long-term and temporary keys.
///
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids>
const LONG_TERM_KEY_PREFIX: &str = "AKIA";
const TEMPORARY_KEY_PREFIX: &str = "ASIA";
/// Prefixes of roles that only the service which made them can change.
const SSO_ROLE_PREFIX: &str = "AWSReservedSSO_";
const SERVICE_ROLE_PREFIX: &str = "AWSServiceRoleFor";

/// Returns the name of a user of the alert's account.
pub(super) fn user(alert: &Alert, principal: &str) -> Option<String> {
    name(alert, principal, PrincipalKind::User)
}

/// Returns the name of a role of the alert's account that can be changed there.
pub(super) fn role(alert: &Alert, principal: &str) -> Option<String> {
    name(alert, principal, PrincipalKind::Role)
        .filter(|name| !name.starts_with(SSO_ROLE_PREFIX) && !name.starts_with(SERVICE_ROLE_PREFIX))
}

/// Returns the name of a role that IAM Identity Center made.
pub(super) fn sso_role(alert: &Alert, principal: &str) -> Option<String> {
    name(alert, principal, PrincipalKind::Role).filter(|name| name.starts_with(SSO_ROLE_PREFIX))
}

/// Returns CloudTrail's name of a principal: the name of a user, or the session name of a role.
pub(super) fn caller(alert: &Alert, principal: &str) -> Option<String> {
    if principal.starts_with("arn:") {
        return match resource(principal) {
            Some(("assumed-role", path)) => Some(path.split_once('/')?.1.to_owned()),
            _ => name_in_arn(principal, PrincipalKind::User),
        };
    }
    let session = principals_named(alert, principal).find_map(Principal::session);
    let session = session.map(str::to_owned);
    session.or_else(|| name(alert, principal, PrincipalKind::User))
}

/// Returns whether a key is valid until somebody deactivates it.
pub(super) fn is_long_term(key: &str) -> bool {
    key.starts_with(LONG_TERM_KEY_PREFIX)
}

/// Returns the e-mail address of a Google Cloud service account.
pub(super) fn service_account(principal: &str) -> Option<String> {
    is_service_account(principal).then(|| principal.to_owned())
}

/// Returns the e-mail address of a principal that is not a service account.
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
        return name_in_arn(principal, kind).filter(|_| is_here);
    }
    (is_name(principal) && may_be_kind(alert, principal, kind)).then(|| principal.to_owned())
}

fn principals_named<'a>(alert: &'a Alert, name: &'a str) -> impl Iterator<Item = &'a Principal> {
    alert.principals.iter().filter(move |one| one.name == name)
}

fn may_be_kind(alert: &Alert, name: &str, kind: PrincipalKind) -> bool {
    let mut told = principals_named(alert, name).peekable();
    if told.peek().is_some() {
        return told.any(|one| one.kind == kind);
    }
    let other = match kind {
        PrincipalKind::User => TEMPORARY_KEY_PREFIX,
        _ => LONG_TERM_KEY_PREFIX,
    };
    let keys = || {
        let all = alert.indicators.iter();
        all.filter(|one| one.kind == IndicatorKind::AccessKey)
    };
    keys().next().is_none() || keys().any(|key| !key.value.starts_with(other))
}

/// Returns whether a text is a valid IAM name; a unique id is not.
fn is_name(text: &str) -> bool {
    let is_id = ["AIDA", "AROA"].iter().any(|head| text.starts_with(head));
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    text.chars().all(fits) && !(is_id && text.len() >= 16)
}

/// Returns the name in an ARN of this kind, or `None` for an ARN of another kind.
fn name_in_arn(arn: &str, wanted: PrincipalKind) -> Option<String> {
    let (kind, path) = resource(arn)?;
    // A session is written `assumed-role/NAME/SESSION`; other principals may have a path before the name.
    let (its, name) = match kind {
        "user" => (PrincipalKind::User, path.rsplit('/').next()?),
        "role" => (PrincipalKind::Role, path.rsplit('/').next()?),
        "assumed-role" => (PrincipalKind::Role, path.split('/').next()?),
        _ => return None,
    };
    (its == wanted).then(|| name.to_owned())
}
