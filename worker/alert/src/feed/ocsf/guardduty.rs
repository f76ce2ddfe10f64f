//! Reads GuardDuty findings in OCSF with the words of GuardDuty's own format: action, outcome, target of a call.
//!
//! Both formats must read alike, because one finding is one alert in every wrapping.

use super::super::guardduty::{
    add_operation, affected, call_outcome, login_outcome, read_info, remote_account,
};
use super::super::{Draft, Node};
use super::endpoint::direction;
use super::status::response_outcome;
use crate::Outcome;
use crate::caller::CallRecord;

/// Reads one evidence; `record` holds its actor.
pub(super) fn read_guardduty_evidence(draft: &mut Draft, evidence: Node<'_>, record: CallRecord) {
    if draft.action.is_none() {
        draft.action = action(&draft.kind, evidence);
    }
    let api = evidence.at("api");
    let service = api.path("service/name");
    let (operation, response) = (api.at("operation"), api.at("response"));
    add_operation(draft, operation, service, response.at("error"));
    let outcome = if is_sequence(&draft.kind) {
        None
    } else if draft.kind.contains(":Kubernetes/") {
        let status = response.at("code").count();
        status.and_then(Outcome::from_http_status)
    } else {
        let failed = response_outcome(api);
        failed
            .or_else(|| call_outcome(operation, response.at("error")))
            .or_else(|| login_outcome(&draft.kind))
    };
    draft.outcome = draft.outcome.or(outcome);
    let account = evidence.path("data/remote_account_details");
    remote_account(draft, account, record.addresses.first().map(String::as_str));
    if operation.exists() {
        // The calls of a sequence need not belong to the only credentials that the finding names.
        if record.principals.is_empty() && !is_sequence(&draft.kind) {
            draft.add_caller_addresses(record.addresses);
        }
        let affected = evidence.path("data/affected_resource");
        affected::read_affected(draft, affected, service.str());
    }
    read_info(draft, evidence.at("data"), None);
}

fn is_sequence(kind: &str) -> bool {
    kind.starts_with("AttackSequence:")
}

fn action(kind: &str, evidence: Node<'_>) -> Option<String> {
    if is_sequence(kind) {
        return Some("ATTACK_SEQUENCE".to_owned());
    }
    let said = |word: &str, about: Node<'_>| Some(format!("{word} {}", about.str()?));
    let call = if kind.contains(":Kubernetes/") {
        "KUBERNETES_API_CALL"
    } else {
        "AWS_API_CALL"
    };
    said(call, evidence.path("api/operation"))
        .or_else(|| {
            evidence
                .path("query/hostname")
                .str()
                .map(|_| "DNS_REQUEST".to_owned())
        })
        .or_else(|| Some(format!("NETWORK_CONNECTION {}", direction(evidence)?)))
        .or_else(|| said("RUNTIME", evidence.path("process/name")))
}
