//! Reads the grounds of a GuardDuty finding: threat lists, unusual behaviour, and `additionalInfo`.
//!
//! `additionalInfo` is JSON in a string under `value`; Security Hub has its members as fields too. The members differ
//! by finding type, and no page documents all of them:
//! <https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_findings-summary.html>.

use serde_json::Value;

use super::add_details;
use super::network::{add_port, canonical};
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Maximum number of unusual behaviours and calls that are read.
const MAX_TRAITS: usize = 32;

/// Members of `additionalInfo`.
const INFO: [(DetailKind, &str); 8] = [
    (DetailKind::ThreatList, "threatListName"),
    (DetailKind::ThreatName, "threatName"),
    (DetailKind::UserAgent, "userAgent/fullUserAgent"),
    (DetailKind::Protocol, "unusualProtocol"),
    (DetailKind::Permission, "policyArn"),
    (DetailKind::LogonType, "authenticationMethod"),
    (DetailKind::Bytes, "outBytes"),
    (DetailKind::Trait, "anomalies/anomalousAPIs"),
];

/// Members of `additionalInfo` that hold ports.
const INFO_PORTS: [(DetailKind, &str); 4] = [
    (DetailKind::LocalPort, "localPort"),
    (DetailKind::RemotePort, "scannedPort"),
    (DetailKind::RemotePort, "portsScannedSample"),
    (DetailKind::RemotePort, "additionalScannedPorts"),
];

/// `additionalInfo` with the members of the JSON in its `value`.
pub(super) struct AdditionalInfo<'a> {
    outer: Node<'a>,
    inner: Option<Value>,
}

impl<'a> AdditionalInfo<'a> {
    pub(super) fn parse(service: Node<'a>) -> Self {
        let outer = service.at("additionalInfo");
        let text = outer.at("value").str().or_else(|| outer.str());
        Self {
            outer,
            inner: text.and_then(|text| serde_json::from_str(text).ok()),
        }
    }

    /// Returns the nodes that may hold the members.
    pub(super) fn nodes(&self) -> [Node<'_>; 3] {
        let inner = self.inner.as_ref().map(Node::new);
        let value = self.outer.at("value");
        [self.outer, value, inner.unwrap_or(value)]
    }
}

pub(super) fn read_evidence(draft: &mut Draft, service: Node<'_>, info: &AdditionalInfo<'_>) {
    let about = only_far_end(draft);
    let lists = service.path("evidence/threatIntelligenceDetails");
    for list in lists.items().take(MAX_TRAITS) {
        let file = list.at("threatFileSha256");
        draft.add(IndicatorKind::Hash, IndicatorRole::Related, file);
        let about = canonical(IndicatorKind::Hash, file).or_else(|| about.clone());
        draft.add_detail_about(
            DetailKind::ThreatList,
            list.at("threatListName"),
            about.as_deref(),
        );
        let names = [(DetailKind::ThreatName, "threatNames")];
        add_details(draft, list, &names, about.as_deref());
    }
    for place in info.nodes().into_iter().filter(|place| place.is_object()) {
        read_info(draft, place, about.as_deref());
    }
    read_unusual_behavior(draft, service.path("detection/anomaly/unusual/behavior"));
}

/// Returns the address or domain at the far end, where there is exactly one.
fn only_far_end(draft: &Draft) -> Option<String> {
    let mut ends = draft.far_ends();
    let first = ends.next()?;
    ends.next().is_none().then(|| first.to_owned())
}

/// Reads the members of `additionalInfo` in one of its nodes.
pub(in crate::feed) fn read_info(draft: &mut Draft, info: Node<'_>, far_end: Option<&str>) {
    for row in INFO {
        let is_of_far_end = matches!(row.0, DetailKind::ThreatList | DetailKind::ThreatName);
        add_details(draft, info, &[row], far_end.filter(|_| is_of_far_end));
    }
    for (kind, key) in INFO_PORTS {
        for port in info.at(key).items().take(MAX_TRAITS) {
            add_port(draft, kind, port, None);
        }
    }
    for call in ["apiCalls", "recentApiCalls"]
        .into_iter()
        .flat_map(|key| info.at(key).items().take(MAX_TRAITS))
    {
        let name = call.at("name").str().or_else(|| call.at("api").str());
        let Some(name) = name else { continue };
        draft.add_detail_text(DetailKind::Operation, name, None);
        draft.add_detail_about(DetailKind::EventCount, call.at("count"), Some(name));
    }
    // The password policy of the account: <https://docs.aws.amazon.com/IAM/latest/APIReference/API_PasswordPolicy.html>.
    for (key, new) in info.at("newPolicy").members().take(MAX_TRAITS) {
        let (old, new) = (info.at("oldPolicy").at(key).text(), new.text());
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            draft.add_detail_text(DetailKind::Trait, &format!("{key}: {old}, now {new}"), None);
        }
    }
}

/// Reads unusual behaviour by the entity that showed it: `{"account": {"apis": {"observations": {"text":
/// ["ListUsers"]}}}}`.
fn read_unusual_behavior(draft: &mut Draft, behavior: Node<'_>) {
    let features = behavior
        .members()
        .flat_map(|(whom, features)| features.members().map(move |one| (whom, one)));
    for (whom, (feature, anomaly)) in features.take(MAX_TRAITS) {
        let observed = anomaly.at("observations");
        let texts = observed
            .at("text")
            .items()
            .chain(observed.at("number").items());
        for text in texts.filter_map(Node::text).take(MAX_TRAITS) {
            let text = format!("unusual {feature} for {whom}: {text}");
            draft.add_detail_text(DetailKind::Trait, &text, None);
        }
    }
}
