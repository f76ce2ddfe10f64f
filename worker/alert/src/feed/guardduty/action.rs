//! `service.action`: what was done, by whom, and with which far end.
//!
//! Whoever called or scanned is an actor; whatever the resource reached out to is a remote.
//! Field names: <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Action.html>.

use crate::feed::{Draft, Node};
use crate::{IndicatorKind, Role};

/// Reads one kind of action; gives what it was done to, in a word or two.
type Reader = fn(&mut Draft, Node<'_>) -> Option<String>;

pub(super) fn read(draft: &mut Draft, service: Node<'_>) {
    let action = service.at("action");
    let kind = action.at("actionType").str();
    let details: [(&str, &str, Reader); 9] = [
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
            kubernetes_words,
        ),
        ("kubernetesRoleDetails", "KUBERNETES_ROLE", kubernetes_words),
        (
            "kubernetesRoleBindingDetails",
            "KUBERNETES_ROLE_BINDING",
            kubernetes_words,
        ),
        ("rdsLoginAttemptAction", "RDS_LOGIN_ATTEMPT", login),
    ];
    for (key, default_kind, read) in details {
        let detail = action.at(key);
        if !detail.is_object() {
            continue;
        }
        let object = read(draft, detail);
        if draft.action.is_none() {
            let kind = kind.unwrap_or(default_kind);
            draft.action =
                Some(object.map_or_else(|| kind.to_owned(), |object| format!("{kind} {object}")));
        }
    }
    if draft.action.is_none() {
        draft.action = kind.map(str::to_owned);
    }
}

/// The account of who called, where it is not the alert's. Of credentials that left their machine GuardDuty tells there
/// whose the address is, and so it does of whoever came from an address alone: the credentials are ours.
///
/// <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_RemoteAccountDetails.html>
pub(super) fn caller_account(draft: &Draft, service: Node<'_>) -> Option<String> {
    let call = service.path("action/awsApiCallAction");
    let caller = call.at("callerType");
    let is_account = !caller.exists() || caller.is("Remote Account") || caller.is("remoteAccount");
    let is_ours = draft.kind.contains("InstanceCredentialExfiltration");
    let account = call.path("remoteAccountDetails/accountId").text()?;
    let other = draft.other_account(&account).map(str::to_owned);
    other.filter(|_| is_account && !is_ours)
}

fn api_call(draft: &mut Draft, call: Node<'_>) -> Option<String> {
    remote(draft, Role::Actor, call.at("remoteIpDetails"));
    draft.add(
        IndicatorKind::Domain,
        Role::Related,
        call.path("domainDetails/domain"),
    );
    // `{"AWS::S3::Bucket": "name"}`: what the call named.
    for (kind, name) in call.at("affectedResources").members() {
        let Some(name) = name.str() else { continue };
        let indicator = match kind {
            "AWS::S3::Bucket" => IndicatorKind::Bucket,
            "AWS::EC2::Instance" => IndicatorKind::Instance,
            "AWS::Lambda::Function" => IndicatorKind::Function,
            kind if kind.starts_with("AWS::IAM::") => IndicatorKind::Principal,
            _ => IndicatorKind::Arn,
        };
        draft.add_text(indicator, Role::Related, name);
        draft.tell_kind(name, None, Some(kind));
    }
    call.at("api").text()
}

fn connection(draft: &mut Draft, connection: Node<'_>) -> Option<String> {
    let direction = connection.at("connectionDirection");
    let role = if direction.is("INBOUND") {
        Role::Actor
    } else {
        Role::Remote
    };
    remote(draft, role, connection.at("remoteIpDetails"));
    draft.add(
        IndicatorKind::Ip,
        Role::Related,
        connection.path("localIpDetails/ipAddressV4"),
    );
    direction.text()
}

fn port_probe(draft: &mut Draft, probe: Node<'_>) -> Option<String> {
    for detail in probe.at("portProbeDetails").items() {
        remote(draft, Role::Actor, detail.at("remoteIpDetails"));
        draft.add(
            IndicatorKind::Ip,
            Role::Related,
            detail.path("localIpDetails/ipAddressV4"),
        );
    }
    None
}

fn dns_request(draft: &mut Draft, request: Node<'_>) -> Option<String> {
    draft.add(IndicatorKind::Domain, Role::Remote, request.at("domain"));
    None
}

fn kubernetes_call(draft: &mut Draft, call: Node<'_>) -> Option<String> {
    remote(draft, Role::Actor, call.at("remoteIpDetails"));
    let sources = || call.at("sourceIps").items();
    // All but the last are what whoever called wrote: <https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>.
    if !draft.names_any(IndicatorKind::Ip, Role::Actor)
        && let Some(last) = sources().last()
    {
        draft.add(IndicatorKind::Ip, Role::Actor, last);
    }
    for ip in sources() {
        draft.add(IndicatorKind::Ip, Role::Related, ip);
    }
    kubernetes_words(draft, call)
}

fn kubernetes_words(_: &mut Draft, call: Node<'_>) -> Option<String> {
    let object = ["resource", "kind", "resourceName", "name", "requestUri"]
        .iter()
        .find_map(|key| call.at(key).str());
    let words: Vec<&str> = [call.at("verb").str(), object]
        .into_iter()
        .flatten()
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn login(draft: &mut Draft, login: Node<'_>) -> Option<String> {
    remote(draft, Role::Actor, login.at("remoteIpDetails"));
    for attributes in login
        .at("loginAttributes")
        .items()
        .chain(login.at("LoginAttributes").items())
    {
        // Who fails to log in may type any name.
        let role = match attributes.at("successfulLoginAttempts").count() {
            Some(logins) if logins > 0 => Role::Actor,
            None if logged_in(&draft.kind) => Role::Actor,
            _ => Role::Related,
        };
        draft.add(IndicatorKind::Principal, role, attributes.at("user"));
    }
    None
}

/// Whether a finding about logins to a database tells of one that succeeded, e.g.
/// `CredentialAccess:RDS/AnomalousBehavior.SuccessfulBruteForce`.
///
/// <https://docs.aws.amazon.com/guardduty/latest/ug/findings-rds-protection.html>
pub(super) fn logged_in(kind: &str) -> bool {
    kind.contains(".Successful")
}

fn remote(draft: &mut Draft, role: Role, details: Node<'_>) {
    draft.add(IndicatorKind::Ip, role, details.at("ipAddressV4"));
    draft.add(IndicatorKind::Ip, role, details.at("ipAddressV6"));
}
