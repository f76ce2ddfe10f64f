//! Reads actors, their calls and the outcomes.

use serde_json::Value;

use super::super::check_name::non_placeholder;
use super::super::{Draft, Node};
use super::connection::address;
use super::fields::{add_member, canonical_member, non_default, plain_member};
use crate::caller::CallRecord;
use crate::{DetailKind, IndicatorKind, IndicatorRole, Outcome};

/// Names of the codes of `google.rpc.Status`, by number.
///
/// <https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto>
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Reads `access`.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/Access>
pub(super) fn read_access(draft: &mut Draft, access: Node<'_>) {
    let ip = access.at("callerIp");
    let addresses = draft.add(IndicatorKind::Ip, IndicatorRole::Actor, ip);
    draft.add_detail_about(
        DetailKind::Country,
        access.path("callerIpGeo/regionCode"),
        address(ip).as_deref(),
    );
    let email = access.at("principalEmail");
    let mut principals = Vec::new();
    if is_notice(access) {
        for name in NAMES.map(|key| access.at(key)) {
            add_member(draft, IndicatorRole::Target, name);
        }
    } else {
        principals.extend(draft.add(IndicatorKind::Principal, IndicatorRole::Actor, email));
        principals.extend(draft.add(
            IndicatorKind::Principal,
            IndicatorRole::Actor,
            access.at("userName"),
        ));
        principals.extend(add_subject(draft, access, email.str()));
    }
    principals.extend(add_delegations(
        draft,
        access.at("serviceAccountDelegationInfo"),
        email.str(),
    ));
    let access_key = add_key(draft, access.at("serviceAccountKeyName"));
    draft.add_call(&CallRecord {
        principals,
        access_keys: access_key.into_iter().collect(),
        addresses,
    });
    let agent = [access.at("userAgent"), access.at("userAgentFamily")];
    if let Some(agent) = agent.iter().find(|agent| agent.str().is_some()) {
        draft.add_detail(DetailKind::UserAgent, *agent);
    }
    read_operation(draft, access);
    read_status(draft, access.at("status"));
}

/// Fields of a record that name an account.
const NAMES: [&str; 3] = ["principalEmail", "userName", "principalSubject"];

/// Prefixes of the events by which Google reports an event of an account.
///
/// <https://developers.google.com/workspace/admin/reports/v1/appendix/activity/login>
const NOTICES: [&str; 3] = ["accountDisabled", "suspicious", "govAttackWarning"];

/// Returns whether a record reports an event of an account, in which the named account is not a caller.
pub(super) fn is_notice(record: Node<'_>) -> bool {
    let method = record.at("methodName").str().unwrap_or_default();
    let name = method.rsplit('.').next().unwrap_or(method);
    let is_login =
        record.at("serviceName").is("login.googleapis.com") || method.starts_with("google.login.");
    is_login && NOTICES.iter().any(|head| name.starts_with(head))
}

/// Reads the subject. It repeats the email, is `user:…`, or names the identity behind it (Kubernetes, federation).
fn add_subject(draft: &mut Draft, node: Node<'_>, email: Option<&str>) -> Option<String> {
    let subject = node.at("principalSubject");
    let Some(email) = email else {
        add_member(draft, IndicatorRole::Actor, subject);
        return canonical_member(subject);
    };
    let plain = draft.actor_text(subject).map(plain_member)?;
    if plain.eq_ignore_ascii_case(email) {
        return None;
    }
    draft.add_detail_text(DetailKind::Session, plain, Some(email));
    draft.add_derived(
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        plain,
        subject,
    )
}

/// Adds every member of a delegation chain, through which an identity acts as this account; records or text.
fn add_delegations(draft: &mut Draft, delegations: Node<'_>, account: Option<&str>) -> Vec<String> {
    let mut names = Vec::new();
    for delegation in delegations.items() {
        if delegation.is_object() {
            for delegate in delegates(delegation) {
                names.extend(add_delegate(draft, delegate, account));
            }
        } else {
            names.extend(add_written_delegations(draft, delegation, account));
        }
    }
    names
}

/// Separators of names in a chain that is written as text.
const NAME_SEPARATORS: [char; 9] = [',', ';', '|', '>', '→', '[', ']', '"', '\''];

/// Adds every name in a chain that is written as text, or as JSON in text. Other content is recorded as unread.
fn add_written_delegations(
    draft: &mut Draft,
    node: Node<'_>,
    account: Option<&str>,
) -> Vec<String> {
    let Some(text) = draft.actor_text(node).and_then(non_placeholder) else {
        return Vec::new();
    };
    if text.starts_with(['{', '['])
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
        && parsed.pointer("/0").unwrap_or(&parsed).is_object()
    {
        let names = add_delegations(draft, Node::new(&parsed), account);
        if names.is_empty() {
            draft.mark_unread(node);
        }
        return names;
    }
    let words = text.split(|one: char| one.is_whitespace() || NAME_SEPARATORS.contains(&one));
    let is_name = |word: &&str| word.chars().any(char::is_alphanumeric);
    let mut names = Vec::new();
    for word in words.filter(is_name) {
        let name = plain_member(word.trim_end_matches('-'));
        let added = draft.add_derived(IndicatorKind::Principal, IndicatorRole::Actor, name, node);
        if let Some(name) = added.as_deref().filter(|name| Some(*name) != account) {
            draft.add_detail_text(DetailKind::Session, name, account);
        }
        names.extend(added);
    }
    names
}

/// Adds every member of a delegation chain that a detector writes in a record of its own.
pub(super) fn read_delegation(draft: &mut Draft, delegation: Node<'_>) {
    let principals = add_delegations(draft, delegation, None);
    draft.add_call(&CallRecord {
        principals,
        ..CallRecord::default()
    });
}

/// Returns the records of a delegation that name an identity: the delegation itself, and those that audit logs nest
/// in it.
///
/// <https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog#ServiceAccountDelegationInfo>
fn delegates(delegation: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let inner = ["firstPartyPrincipal", "thirdPartyPrincipal"].map(|key| delegation.at(key));
    let named = inner.into_iter().filter(|inner| inner.exists());
    std::iter::once(delegation).chain(named)
}

/// Adds the identities that act through a service account: the original callers.
fn add_delegate(draft: &mut Draft, delegation: Node<'_>, account: Option<&str>) -> Vec<String> {
    let email = delegation.at("principalEmail");
    let mut names = Vec::new();
    names.extend(draft.add(IndicatorKind::Principal, IndicatorRole::Actor, email));
    names.extend(add_subject(draft, delegation, email.str()));
    let who = email.str().or(delegation.at("principalSubject").str());
    let who = who.map(plain_member).filter(|who| Some(*who) != account);
    if let Some(who) = who {
        draft.add_detail_text(DetailKind::Session, who, account);
    }
    names
}

/// Adds the key that was used: `//iam.googleapis.com/projects/p/serviceAccounts/a/keys/k`.
fn add_key(draft: &mut Draft, name: Node<'_>) -> Option<String> {
    draft.add(IndicatorKind::Arn, IndicatorRole::Related, name);
    let full = draft.actor_text(name)?;
    let id = full.rsplit_once("/keys/").map_or(full, |(_, id)| id);
    draft.add_derived(IndicatorKind::AccessKey, IndicatorRole::Actor, id, name)
}

/// Adds the call of a record, unless the record reports what Google observed.
pub(super) fn read_operation(draft: &mut Draft, node: Node<'_>) {
    let Some(method) = node.at("methodName").str() else {
        return;
    };
    if is_notice(node) {
        draft.add_detail_text(DetailKind::Trait, &format!("Google saw: {method}"), None);
        return;
    }
    let written = match node.at("serviceName").str() {
        Some(service) => format!("{service} {method}"),
        None => method.to_owned(),
    };
    draft.add_detail_text(DetailKind::Operation, &written, None);
    draft.action.get_or_insert_with(|| method.to_owned());
}

/// Sets the outcome of the call: `google.rpc.Status`, or its code alone, by number or by name.
pub(super) fn read_status(draft: &mut Draft, status: Node<'_>) {
    let code = if status.is_object() {
        status.at("code")
    } else {
        status
    };
    let by_number = code
        .count()
        .and_then(|code| CODES.get(usize::try_from(code).ok()?));
    let by_name = || {
        let name = code.str()?;
        CODES.iter().find(|known| name.eq_ignore_ascii_case(known))
    };
    let Some(code) = by_number.or_else(by_name) else {
        return;
    };
    let outcome = match *code {
        "OK" => Some(Outcome::Succeeded),
        other => {
            draft.add_detail_text(DetailKind::ErrorCode, other, None);
            Outcome::from_error_code(other)
        }
    };
    draft.outcome = draft.outcome.or(outcome);
}

/// Sets the outcome of a job.
pub(super) fn read_job_state(draft: &mut Draft, state: Node<'_>) {
    let outcome = match state.str() {
        Some("SUCCEEDED" | "DONE") => Outcome::Succeeded,
        Some("FAILED") => Outcome::Failed,
        _ => return,
    };
    draft.outcome.get_or_insert(outcome);
}

/// Reads who read, moved or copied data, including flows that violate a data boundary.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/DataAccessEvent>,
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/DataFlowEvent>
pub(super) fn read_data_events(draft: &mut Draft, finding: Node<'_>) {
    let access = finding.at("dataAccessEvents").items();
    for event in access.chain(finding.at("dataFlowEvents").items()) {
        let who = event.at("principalEmail");
        let principals = draft.add(IndicatorKind::Principal, IndicatorRole::Actor, who);
        draft.add_call(&CallRecord {
            principals,
            ..CallRecord::default()
        });
        if let Some(operation) = non_default(event.at("operation")) {
            draft.add_detail_text(DetailKind::Operation, &operation, who.str());
            draft.action.get_or_insert(operation);
        }
        if let Some(place) = event.at("violatedLocation").str() {
            let written = format!("data went to {place}");
            draft.add_detail_text(DetailKind::Trait, &written, who.str());
        }
        draft.widen_event_times(event.at("eventTime"), event.at("eventTime"));
    }
}
