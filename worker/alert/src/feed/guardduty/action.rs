//! Reads `service.action`: the action, its actor, far end and outcome.
//!
//! A caller or scanner is an actor. The far end of a connection that the resource opened is a remote. The field names
//! are in <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Action.html>.

use std::collections::BTreeMap;

use super::network::{
    add_other_account, addresses, canonical, read_connection, read_far_end, read_local_end,
};
use super::{add_details, affected, login};
use crate::feed::cloud::account_id;
use crate::feed::{Draft, Node};
use crate::{CloudProvider, DetailKind, Direction, IndicatorKind, IndicatorRole, Outcome};

/// A reader of one kind of action. It returns a short name of the action's object.
type ActionReader = fn(&mut Draft, Node<'_>) -> Option<String>;

/// The key of each kind of action, its name, and its reader.
const READERS: [(&str, &str, ActionReader); 9] = [
    ("awsApiCallAction", "AWS_API_CALL", api_call),
    ("networkConnectionAction", "NETWORK_CONNECTION", connection),
    ("portProbeAction", "PORT_PROBE", port_probe),
    ("dnsRequestAction", "DNS_REQUEST", dns_request),
    (
        "kubernetesApiCallAction",
        "KUBERNETES_API_CALL",
        kubernetes_call,
    ),
    (
        "kubernetesPermissionCheckedDetails",
        "KUBERNETES_PERMISSION_CHECKED",
        kubernetes_permission,
    ),
    (
        "kubernetesRoleDetails",
        "KUBERNETES_ROLE",
        kubernetes_binding,
    ),
    (
        "kubernetesRoleBindingDetails",
        "KUBERNETES_ROLE_BINDING",
        kubernetes_binding,
    ),
    (
        "rdsLoginAttemptAction",
        "RDS_LOGIN_ATTEMPT",
        login::read_login,
    ),
];

pub(super) fn read_service_action(draft: &mut Draft, service: Node<'_>) {
    let action = service.at("action");
    let kind = action.at("actionType").str();
    draft.direction = direction(service);
    for (key, default_kind, read) in READERS {
        for detail in draft.records(action.at(key)) {
            let object = read(draft, detail);
            if draft.action.is_none() {
                let kind = kind.unwrap_or(default_kind);
                draft.action = Some(match object {
                    Some(object) => format!("{kind} {object}"),
                    None => kind.to_owned(),
                });
            }
        }
    }
    if draft.action.is_none() {
        draft.action = kind.map(str::to_owned);
    }
}

/// Returns the direction of the connection: its own, else by the role of the resource.
fn direction(service: Node<'_>) -> Option<Direction> {
    let connection = service.path("action/networkConnectionAction/connectionDirection");
    let told = connection.str().and_then(Direction::parse);
    told.or_else(|| Direction::from_resource_role(service.at("resourceRole").str()?))
}

/// Returns the account of the caller, where it is not the alert's. For credentials used outside their machine, and for
/// callers with an address alone, GuardDuty writes the owner of the address there; those credentials belong to the
/// alert's account.
///
/// <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_RemoteAccountDetails.html>
pub(in crate::feed) fn caller_account(draft: &Draft, service: Node<'_>) -> Option<String> {
    let call = service.path("action/awsApiCallAction");
    let caller = call.at("callerType");
    let is_account = !caller.exists() || caller.is("Remote Account") || caller.is("remoteAccount");
    let is_ours = draft.kind.contains("InstanceCredentialExfiltration");
    let account = call.path("remoteAccountDetails/accountId");
    let account = account_id(account, CloudProvider::Aws)?;
    let other = draft.other_account(&account).map(str::to_owned);
    other.filter(|_| is_account && !is_ours)
}

fn api_call(draft: &mut Draft, call: Node<'_>) -> Option<String> {
    let caller = read_far_end(draft, IndicatorRole::Actor, call.at("remoteIpDetails"));
    draft.add_caller_addresses(addresses(call.at("remoteIpDetails")));
    let caller = caller.as_deref();
    // Beside an address, a host name does not identify the caller.
    let has_address = call.at("remoteIpDetails").is_object() && caller.is_some();
    let role = if has_address {
        IndicatorRole::Related
    } else {
        IndicatorRole::Actor
    };
    let domain = call.path("domainDetails/domain");
    draft.add(IndicatorKind::Domain, role, domain);
    draft.add_detail_about(DetailKind::UserAgent, call.at("userAgent"), caller);
    remote_account(draft, call.at("remoteAccountDetails"), caller);
    let service = call.at("serviceName");
    add_operation(draft, call.at("api"), service, call.at("errorCode"));
    draft.outcome = call_outcome(call.at("api"), call.at("errorCode"));
    affected::read_affected(draft, call.at("affectedResources"), service.str());
    call.at("api").text()
}

/// Returns the outcome of an API call. GuardDuty writes an error code only for failed calls.
pub(in crate::feed) fn call_outcome(api: Node<'_>, error: Node<'_>) -> Option<Outcome> {
    match error.str() {
        Some(code) => Outcome::from_error_code(code),
        None => api.str().map(|_| Outcome::Succeeded),
    }
}

/// Adds an operation with its service and its error.
pub(in crate::feed) fn add_operation(
    draft: &mut Draft,
    operation: Node<'_>,
    service: Node<'_>,
    error: Node<'_>,
) -> Option<String> {
    let operation = operation.str()?;
    let whole = match service.str() {
        Some(service) => format!("{service} {operation}"),
        None => operation.to_owned(),
    };
    draft.add_detail_text(DetailKind::Operation, &whole, None);
    draft.add_detail_about(DetailKind::ErrorCode, error, Some(&whole));
    Some(whole)
}

/// Reads the caller's account, whether it belongs to the organisation, and the AWS service of the caller. An account
/// that is not the alert's is an actor, even within the same organisation.
pub(in crate::feed) fn remote_account(draft: &mut Draft, account: Node<'_>, caller: Option<&str>) {
    add_other_account(draft, account.at("accountId"), caller);
    draft.add_account(account.at("accountId"));
    let id = account_id(account.at("accountId"), CloudProvider::Aws);
    let id = id.as_deref();
    draft.add_detail_about(DetailKind::Application, account.at("awsServiceName"), id);
    if account.at("affiliated").exists() && !account.at("affiliated").is_true() {
        draft.add_detail_text(DetailKind::Trait, "account outside the organisation", id);
    }
}

fn connection(draft: &mut Draft, connection: Node<'_>) -> Option<String> {
    let direction = connection.at("connectionDirection");
    let role = match draft.direction {
        Some(Direction::Inbound) => IndicatorRole::Actor,
        _ => IndicatorRole::Remote,
    };
    let far_end = read_far_end(draft, role, connection.at("remoteIpDetails"));
    read_connection(draft, connection, far_end.as_deref());
    read_local_end(draft, connection);
    read_blocked(draft, connection);
    direction.text()
}

fn port_probe(draft: &mut Draft, probe: Node<'_>) -> Option<String> {
    for detail in probe.at("portProbeDetails").items() {
        read_far_end(draft, IndicatorRole::Actor, detail.at("remoteIpDetails"));
        read_local_end(draft, detail);
    }
    read_blocked(draft, probe);
    None
}

fn dns_request(draft: &mut Draft, request: Node<'_>) -> Option<String> {
    let domain = request.at("domain");
    draft.add(IndicatorKind::Domain, IndicatorRole::Remote, domain);
    let about = canonical(IndicatorKind::Domain, domain);
    let suffixed = request.at("domainWithSuffix");
    draft.add(IndicatorKind::Domain, IndicatorRole::Related, suffixed);
    draft.add_detail_about(
        DetailKind::Protocol,
        request.at("protocol"),
        about.as_deref(),
    );
    add_other_account(draft, request.at("vpcOwnerAccountId"), None);
    read_blocked(draft, request);
    None
}

/// Reads whether EC2 blocked the connection.
fn read_blocked(draft: &mut Draft, action: Node<'_>) {
    if action.at("blocked").is_true() {
        draft.outcome = Some(Outcome::Blocked);
    }
}

fn kubernetes_call(draft: &mut Draft, call: Node<'_>) -> Option<String> {
    let caller = read_far_end(draft, IndicatorRole::Actor, call.at("remoteIpDetails"));
    let sources = || call.at("sourceIps").items();
    // All addresses but the last are written by the client:
    // <https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>.
    if !draft.has_kind_in_role(IndicatorKind::Ip, IndicatorRole::Actor)
        && let Some(last) = sources().last()
    {
        draft.add(IndicatorKind::Ip, IndicatorRole::Actor, last);
    }
    for ip in sources() {
        draft.add(IndicatorKind::Ip, IndicatorRole::Related, ip);
    }
    let caller = caller.as_deref();
    draft.add_detail_about(DetailKind::UserAgent, call.at("userAgent"), caller);
    if let (Some(verb), Some(uri)) = (call.at("verb").str(), call.at("requestUri").str()) {
        draft.add_detail_text(DetailKind::HttpRequest, &format!("{verb} {uri}"), caller);
    }
    let status = call.at("statusCode");
    draft.outcome = status.count().and_then(Outcome::from_http_status);
    if draft.outcome.is_some_and(Outcome::is_without_effect) {
        draft.add_detail(DetailKind::ErrorCode, status);
    }
    add_kubernetes_object(draft, call);
    kubernetes_words(call)
}

/// Adds the object of a Kubernetes call as a resource, so that each secret and each pod counts.
fn add_kubernetes_object(draft: &mut Draft, call: Node<'_>) {
    let (Some(kind), Some(name)) = (call.at("resource").str(), call.at("resourceName").str())
    else {
        return;
    };
    let words = [call.at("namespace").str(), Some(name)];
    let id = words.into_iter().flatten().collect::<Vec<_>>().join("/");
    if kind.eq_ignore_ascii_case("pods") {
        draft.add_text(IndicatorKind::Container, IndicatorRole::Target, &id);
    }
    draft.add_resource(kind, &id, Some(name), BTreeMap::new());
}

/// Adds `verb resource`, and whether the caller has that permission.
fn kubernetes_permission(draft: &mut Draft, check: Node<'_>) -> Option<String> {
    let words = kubernetes_words(check);
    if let Some(permission) = &words {
        let has = match check.at("allowed").is_true() {
            true => "allowed",
            false => "not allowed",
        };
        let text = format!("{permission}: {has}");
        draft.add_detail_text(DetailKind::Permission, &text, None);
    }
    words
}

/// Reads a role, or a binding with the role that it grants.
fn kubernetes_binding(draft: &mut Draft, binding: Node<'_>) -> Option<String> {
    let name = binding.at("name").str();
    add_details(
        draft,
        binding,
        &[(DetailKind::Permission, "roleRefName")],
        name,
    );
    if !binding.at("roleRefName").exists() {
        draft.add_detail(DetailKind::Permission, binding.at("name"));
    }
    kubernetes_words(binding)
}

/// Returns the verb and the object: `get secrets db-password in pay`, `create pods/exec coredns-1 in kube-system`.
fn kubernetes_words(call: Node<'_>) -> Option<String> {
    let first = |keys: &[&str]| keys.iter().find_map(|key| call.at(key).str());
    let kind = first(&["resource", "kind"]).map(|kind| match call.at("subresource").str() {
        Some(part) => format!("{kind}/{part}"),
        None => kind.to_owned(),
    });
    let name = first(&["resourceName", "name"]);
    let place = call
        .at("namespace")
        .str()
        .map(|place| format!("in {place}"));
    let uri = call
        .at("requestUri")
        .str()
        .filter(|_| kind.is_none() && name.is_none());
    let words = [
        call.at("verb").str(),
        kind.as_deref(),
        name,
        uri,
        place.as_deref().filter(|_| uri.is_none()),
    ];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}
