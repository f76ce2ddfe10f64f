//! Reads `service.detection.sequence`: several signals that GuardDuty correlated (`AttackSequence:*`).
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Sequence.html>

mod resource;
mod traits;

pub(in crate::feed) use traits::{read_trait, technique};

use std::collections::HashMap;

use super::action::add_operation;
use super::network::{add_asn, add_direction, add_port, canonical};
use super::{MAX_LISTED, add_details};
use crate::caller::CallRecord;
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Location and owner of an endpoint.
const LOCATION: [(DetailKind, &str); 3] = [
    (DetailKind::Country, "location/country"),
    (DetailKind::City, "location/city"),
    (DetailKind::Organisation, "autonomousSystem/name"),
];

/// Fields that describe a process, with their kinds.
const PROCESS: [(IndicatorKind, &str); 3] = [
    (IndicatorKind::Process, "name"),
    (IndicatorKind::File, "path"),
    (IndicatorKind::Hash, "sha256"),
];

pub(super) fn read_sequence(draft: &mut Draft, service: Node<'_>) {
    let sequence = service.path("detection/sequence");
    if !sequence.is_object() {
        return;
    }
    let mut actors = HashMap::new();
    for one in draft.records(sequence.at("actors")) {
        let record = actor(draft, one);
        draft.add_call(&record);
        actors.extend(one.at("id").str().map(|id| (id, record)));
    }
    let mut endpoints = HashMap::new();
    for one in draft.records(sequence.at("endpoints")) {
        let address = endpoint(draft, one);
        endpoints.extend(one.at("id").str().zip(address));
    }
    for one in sequence.at("resources").items() {
        resource::read_sequence_resource(draft, one);
    }
    for signal in sequence.at("signals").items() {
        draft.widen_event_times(signal.at("firstSeenAt"), signal.at("lastSeenAt"));
        traits::read_traits(draft, signal.at("signalIndicators"));
        add_callers(draft, signal, &actors, &endpoints);
        for activity in signal.at("activities").items().take(MAX_LISTED) {
            read_activity(draft, activity.at("api"));
        }
    }
    traits::read_traits(draft, sequence.at("sequenceIndicators"));
    let also = [(DetailKind::Trait, "additionalSequenceTypes")];
    add_details(draft, sequence, &also, None);
    if draft.description.is_empty() {
        draft.description = sequence.at("description").text().unwrap_or_default();
    }
    if draft.action.is_none() {
        draft.action = Some("ATTACK_SEQUENCE".to_owned());
    }
}

/// Adds the callers of one signal. With several actors and several endpoints the signal does not say which belong
/// together.
fn add_callers(
    draft: &mut Draft,
    signal: Node<'_>,
    actors: &HashMap<&str, CallRecord>,
    endpoints: &HashMap<&str, String>,
) {
    let ids = |key: &str| signal.at(key).items().filter_map(Node::str);
    let acting: Vec<&CallRecord> = ids("actorIds").filter_map(|id| actors.get(id)).collect();
    let from: Vec<String> = ids("endpointIds")
        .filter_map(|id| endpoints.get(id).cloned())
        .collect();
    if ids("actorIds").count() == 1 || ids("endpointIds").count() == 1 {
        for record in acting {
            draft.add_call(&CallRecord {
                addresses: from.clone(),
                ..record.clone()
            });
        }
    }
}

fn actor(draft: &mut Draft, actor: Node<'_>) -> CallRecord {
    let principals = draft.add_actor(actor);
    let access_keys = draft.add(
        IndicatorKind::AccessKey,
        IndicatorRole::Actor,
        actor.path("user/credentialUid"),
    );
    for (kind, key) in PROCESS {
        draft.add(kind, IndicatorRole::Related, actor.at("process").at(key));
    }
    let session = actor.at("session");
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        session.at("issuer"),
    );
    if let Some(status) = session.at("mfaStatus").str() {
        let text = format!("MFA {}", status.to_ascii_lowercase());
        draft.add_detail_text(DetailKind::AuthResult, &text, actor.path("user/name").str());
    }
    CallRecord {
        principals,
        access_keys,
        addresses: Vec::new(),
    }
}

/// Reads an endpoint and returns its address, where an actor came from there.
fn endpoint(draft: &mut Draft, endpoint: Node<'_>) -> Option<String> {
    let direction = endpoint.path("connection/direction");
    let role = if direction.is("OUTBOUND") {
        IndicatorRole::Remote
    } else {
        IndicatorRole::Actor
    };
    let address = draft
        .add(IndicatorKind::Ip, role, endpoint.at("ip"))
        .into_iter()
        .next();
    draft.add(
        IndicatorKind::Domain,
        IndicatorRole::Remote,
        endpoint.at("domain"),
    );
    let about = address
        .clone()
        .or_else(|| canonical(IndicatorKind::Domain, endpoint.at("domain")));
    let about = about.as_deref();
    add_details(draft, endpoint, &LOCATION, about);
    add_asn(draft, endpoint.path("autonomousSystem/number"), about);
    add_port(draft, DetailKind::RemotePort, endpoint.at("port"), about);
    add_direction(draft, direction, about);
    address.filter(|_| role == IndicatorRole::Actor)
}

/// Reads the API call of a signal.
fn read_activity(draft: &mut Draft, api: Node<'_>) {
    let operation = add_operation(
        draft,
        api.at("operation"),
        api.at("service"),
        api.at("error"),
    );
    let about = operation.as_deref();
    draft.add_detail_about(DetailKind::UserAgent, api.at("userAgent"), about);
}
