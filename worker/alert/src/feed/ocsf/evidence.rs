//! Reads the evidences of a finding. Some products write the same fields into the finding itself.
//!
//! <https://schema.ocsf.io/1.8.0/objects/evidences>

use super::super::{Draft, Node};
use super::endpoint::direction;
use super::status::response_outcome;
use super::{actor, class, descendants, endpoint, guardduty, kind, process, resource};
use crate::caller::CallRecord;
use crate::{DetailKind, Direction, FindingClass, IndicatorKind, IndicatorRole};

/// Indicators of an evidence whose role is unknown.
const INDICATORS: [(&str, IndicatorKind); 8] = [
    ("answers/rdata", IndicatorKind::Ip),
    ("answers/rdata", IndicatorKind::Domain),
    ("query/answers/rdata", IndicatorKind::Ip),
    ("query/answers/rdata", IndicatorKind::Domain),
    ("http_request/referrer", IndicatorKind::Url),
    ("email/x_originating_ip", IndicatorKind::Ip),
    ("email/urls/url_string", IndicatorKind::Url),
    ("web_resources/url_string", IndicatorKind::Url),
];

/// Mail addresses. Senders can be forged.
const MAIL: [(&str, IndicatorRole); 7] = [
    ("email/to", IndicatorRole::Target),
    ("email/smtp_to", IndicatorRole::Target),
    ("email/delivered_to", IndicatorRole::Target),
    ("email/from", IndicatorRole::Related),
    ("email/smtp_from", IndicatorRole::Related),
    ("email/reply_to", IndicatorRole::Related),
    ("email/cc", IndicatorRole::Related),
];

/// Further details of an evidence.
const DETAILS: [(&str, DetailKind); 16] = [
    ("query/hostname", DetailKind::DnsQuery),
    ("http_request/user_agent", DetailKind::UserAgent),
    ("email/subject", DetailKind::MailSubject),
    ("logon_type", DetailKind::LogonType),
    ("auth_protocol", DetailKind::LogonType),
    ("privileges", DetailKind::Permission),
    ("group/name", DetailKind::Group),
    ("app_name", DetailKind::Application),
    ("service/name", DetailKind::Application),
    ("application/name", DetailKind::Application),
    ("firewall_rule/name", DetailKind::SecurityGroup),
    ("firewall_rule/uid", DetailKind::SecurityGroup),
    ("policy/name", DetailKind::CustomRule),
    ("traffic/bytes", DetailKind::Bytes),
    ("traffic/bytes_out", DetailKind::Bytes),
    ("ai_model/name", DetailKind::AiModel),
];

pub(super) fn read_evidences(draft: &mut Draft, node: Node<'_>) {
    kind::add_control(draft, node);
    // Without resources the finding is about the organisation's end of the connection.
    let own = match draft.resources.is_empty() {
        true => IndicatorRole::Target,
        false => IndicatorRole::Related,
    };
    read_evidence(draft, node, node.at("device"), own);
    for evidence in draft.records(node.at("evidences")) {
        let device = match evidence.at("device") {
            device if device.exists() => device,
            _ => node.at("device"),
        };
        read_evidence(draft, evidence, device, own);
        resource::read_evidence_resources(draft, evidence);
        actor::read_evidence_user(draft, evidence);
    }
    draft.direction = connection_direction(draft, node);
    if draft.action.is_none() && !class::is_finding(node) {
        draft.action = kind::activity(node);
    }
}

/// Returns the direction of the connection: from the evidences, else by the role of the resource. The resource is the
/// actor of an outbound connection.
fn connection_direction(draft: &Draft, node: Node<'_>) -> Option<Direction> {
    let connections = evidences(node).filter_map(|one| Direction::parse(&direction(one)?));
    let roles = evidences(node).filter_map(|one| {
        let role = one.path("data/resource_role");
        Direction::from_resource_role(role.str()?)
    });
    let asked = evidences(node).filter(|one| {
        endpoint::is_dns_query(*one) && endpoint::is_own_endpoint(one.at("src_endpoint"))
    });
    connections
        .max()
        .or_else(|| roles.max())
        .or_else(|| asked.map(|_| Direction::Outbound).next())
        .or_else(|| resource::direction(node))
        .filter(|_| draft.class == FindingClass::Threat)
}

/// Returns the finding itself and its evidences.
pub(super) fn evidences(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::once(node).chain(node.at("evidences").items())
}

fn read_evidence(draft: &mut Draft, evidence: Node<'_>, device: Node<'_>, own: IndicatorRole) {
    let ends = endpoint::read_endpoints(draft, evidence, device, own);
    let record = CallRecord {
        addresses: ends.source_addresses,
        ..actor::read_actor(draft, evidence.at("actor"))
    };
    draft.add_call(&record);
    actor::add_other_actors(draft, evidence, &record);
    process::read_processes(draft, evidence);
    read_requests(draft, evidence, ends.far_role);
    for (path, kind) in INDICATORS {
        for value in descendants(evidence, path) {
            draft.add(kind, IndicatorRole::Related, value);
        }
    }
    if endpoint::is_dns_query(evidence) {
        for answer in descendants(evidence, "answers/rdata")
            .into_iter()
            .filter_map(Node::str)
        {
            draft.add_text(IndicatorKind::Ip, IndicatorRole::Remote, answer);
        }
    }
    for (path, role) in MAIL {
        for address in descendants(evidence, path)
            .into_iter()
            .filter_map(Node::str)
        {
            draft.add_text(IndicatorKind::Email, role, mailbox(address));
        }
    }
    for (path, kind) in DETAILS {
        for value in descendants(evidence, path) {
            draft.add_detail(kind, value);
        }
    }
    if draft.product == "guardduty" {
        guardduty::read_guardduty_evidence(draft, evidence, record);
    } else {
        read_api_call(draft, evidence.at("api"));
    }
}

/// Adds the API operation that was called and its error.
fn read_api_call(draft: &mut Draft, api: Node<'_>) {
    let Some(operation) = api.at("operation").str() else {
        return;
    };
    let service = api.path("service/name").str();
    let words: Vec<&str> = service.into_iter().chain([operation]).collect();
    let whole = words.join(" ");
    draft.add_detail_text(DetailKind::Operation, &whole, None);
    if response_outcome(api).is_some() {
        let response = api.at("response");
        let codes = ["error", "code"].map(|key| response.at(key));
        if let Some(code) = codes.into_iter().find(|code| code.exists()) {
            draft.add_detail_about(DetailKind::ErrorCode, code, Some(&whole));
        }
    }
    if draft.action.is_none() {
        draft.action = Some(operation.to_owned());
    }
}

/// Adds requested names, addresses and HTTP requests. A name that a client requests from a host of the organisation is
/// no far end.
fn read_requests(draft: &mut Draft, evidence: Node<'_>, far: IndicatorRole) {
    draft.add(
        IndicatorKind::Domain,
        IndicatorRole::Remote,
        evidence.path("query/hostname"),
    );
    add_url(draft, evidence.at("url"), IndicatorRole::Remote);
    draft.add(IndicatorKind::Domain, far, evidence.path("tls/sni"));
    for name in descendants(evidence, "tls/certificate/sans/name") {
        draft.add(IndicatorKind::Domain, IndicatorRole::Related, name);
    }
    let request = evidence.at("http_request");
    add_url(draft, request.at("url"), far);
    let url = request.at("url");
    let path = ["path", "url_string"]
        .iter()
        .find_map(|key| url.at(key).str());
    let Some(path) = path else { return };
    let mut words = request
        .at("http_method")
        .str()
        .into_iter()
        .collect::<Vec<_>>();
    words.push(path);
    let mut text = words.join(" ");
    let query = url.at("query_string").str().or(request.at("args").str());
    if let Some(query) = query.filter(|_| !path.contains('?')) {
        text = format!("{text}?{}", query.trim_start_matches('?'));
    }
    draft.add_detail_text(DetailKind::HttpRequest, &text, url.at("hostname").str());
}

/// Adds a URL, whole or by its host.
fn add_url(draft: &mut Draft, url: Node<'_>, role: IndicatorRole) {
    let hosts = ["hostname", "domain"].map(|key| url.at(key));
    let whole = url.at("url_string");
    // Some products write only the path, beside the host or where the far end is elsewhere.
    let is_path = whole.str().is_some_and(|text| text.starts_with('/'));
    let has_host = hosts.iter().any(|host| host.exists());
    match whole.str() {
        Some(text) if is_path || has_host => {
            draft.add_text(IndicatorKind::Url, role, text);
        }
        _ => {
            draft.add(IndicatorKind::Url, role, whole);
        }
    }
    for host in hosts {
        draft.add_host(role, host);
    }
}

/// Returns the address in `Name <address>`.
fn mailbox(text: &str) -> &str {
    let inner = text.rsplit_once('<').map_or(text, |(_, inner)| inner);
    inner.trim_end_matches('>').trim()
}
