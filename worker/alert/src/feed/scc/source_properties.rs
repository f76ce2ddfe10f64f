//! Reads `sourceProperties`: the detectors' own fields, at any depth, under recurring names.
//!
//! Event Threat Detection puts a record named after the rule into `properties`, such as `sensitiveRoleGrant`, or fills
//! `properties` itself. Container Threat Detection, Web Security Scanner and Security Health Analytics write flat
//! fields. The names are listed in
//! <https://cloud.google.com/chronicle/docs/ingestion/default-parsers/collect-security-command-center-findings>.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use super::super::node::fold_key;
use super::super::{Draft, Node};
use super::access::{is_notice, read_delegation, read_job_state, read_operation, read_status};
use super::connection::{address, read_flow};
use super::entities::{add_data_end, add_other_account, argument, data_leaves, iam_binding, query};
use super::fields::FieldMapping::{self, Detail, Labelled, Member, Record, Resource, Text, Value};
use super::fields::{add_member, canonical_member, for_each_descendant};
use super::records::{drift, log_entry};
use crate::caller::CallRecord;
use crate::{DetailKind, IndicatorKind, IndicatorRole, Outcome};

/// Maximum depth of records.
const MAX_DEPTH: usize = 6;

/// Readings of fields, by name at any depth.
const FIELDS: &[(&str, FieldMapping)] = &[
    // Actors and origins.
    ("principalEmail", Member(IndicatorRole::Actor)),
    ("principalSubject", Member(IndicatorRole::Actor)),
    ("userEmail", Member(IndicatorRole::Actor)),
    ("serviceAccountDelegationInfo", Record(read_delegation)),
    ("callerIp", Value(IndicatorKind::Ip, IndicatorRole::Actor)),
    ("sourceIp", Value(IndicatorKind::Ip, IndicatorRole::Actor)),
    ("changeFromBadIp", Record(bad_ip)),
    ("callerUserAgent", Detail(DetailKind::UserAgent)),
    ("rawUserAgent", Detail(DetailKind::UserAgent)),
    ("userAgent", Detail(DetailKind::UserAgent)),
    ("anomalousLocation", Record(location)),
    (
        "anomalousSoftwareClassification",
        Labelled(DetailKind::Trait, "class of the software:"),
    ),
    ("attempts", Record(attempt)),
    ("loginAttempts", Record(attempt)),
    ("attemptCount", Detail(DetailKind::EventCount)),
    ("eventCount", Detail(DetailKind::EventCount)),
    // Targets and grants.
    ("externalMember", Member(IndicatorRole::Related)),
    ("externalMemberName", Member(IndicatorRole::Related)),
    ("externalMembers", Member(IndicatorRole::Related)),
    ("members", Member(IndicatorRole::Related)),
    ("serviceAccountName", Member(IndicatorRole::Related)),
    ("bindingDeltas", Record(iam_binding)),
    ("groupName", Record(group)),
    ("whoCanJoin", Labelled(DetailKind::Exposure, "may join:")),
    ("sensitiveRoles", Record(sensitive_roles)),
    ("roleName", Detail(DetailKind::Permission)),
    ("permissions", Detail(DetailKind::Permission)),
    ("offendingIamRolesList", Record(offending_roles)),
    ("compromisedAccount", Member(IndicatorRole::Target)),
    (
        "privateKeyIdentifier",
        Value(IndicatorKind::AccessKey, IndicatorRole::Target),
    ),
    ("actionTaken", Labelled(DetailKind::Trait, "action taken:")),
    ("ssoState", Labelled(DetailKind::Trait, "single sign-on:")),
    ("domainName", Labelled(DetailKind::Trait, "domain")),
    ("delta", Record(perimeter)),
    // Fields of outcomes.
    ("status", Record(read_status)),
    ("failedActions", Record(denied_call)),
    ("authorizationInfo", Record(authorization)),
    ("jobState", Record(read_job_state)),
    ("vpcViolation", Record(violation)),
    // Data, its sources and destinations.
    ("query", Record(query)),
    ("sourceTables", Record(source_table)),
    ("sourceTable", Record(source_table)),
    ("destinationTables", Record(destination_table)),
    ("destinations", Record(destination)),
    ("gcsUri", Record(storage_uri)),
    ("bucketResource", Record(remote_resource)),
    ("bucketAccess", Labelled(DetailKind::Exposure, "bucket:")),
    ("exportScope", Labelled(DetailKind::Trait, "export of")),
    ("cloudsqlInstanceResource", Resource(IndicatorRole::Target)),
    (
        "sourceCloudsqlInstanceResource",
        Resource(IndicatorRole::Target),
    ),
    ("targetCloudsqlInstanceResource", Record(remote_resource)),
    ("backupId", Labelled(DetailKind::Trait, "backup")),
    // Fields of the network.
    ("ipConnection", Record(read_flow)),
    ("indicatorContext", Record(indicator_context)),
    ("dnsContexts", Record(dns)),
    ("vpcName", Detail(DetailKind::Vpc)),
    ("subnetworkName", Detail(DetailKind::Subnet)),
    (
        "scannerDomain",
        Value(IndicatorKind::Domain, IndicatorRole::Related),
    ),
    (
        "loadBalancerName",
        Labelled(DetailKind::Trait, "load balancer"),
    ),
    ("requestUrl", Detail(DetailKind::HttpRequest)),
    ("reproductionUrl", Detail(DetailKind::HttpRequest)),
    ("threatIntelligenceSource", Detail(DetailKind::ThreatList)),
    ("publicTagName", Detail(DetailKind::ThreatName)),
    (
        "allowedIpRange",
        Labelled(DetailKind::Exposure, "addresses allowed:"),
    ),
    (
        "externallyAccessibleProtocolsAndPorts",
        Record(accessible_ports),
    ),
    // Machines, containers and processes.
    (
        "instanceId",
        Value(IndicatorKind::Instance, IndicatorRole::Related),
    ),
    (
        "gceInstanceId",
        Value(IndicatorKind::Instance, IndicatorRole::Target),
    ),
    ("instanceDetails", Resource(IndicatorRole::Target)),
    ("sourceInstanceDetails", Resource(IndicatorRole::Target)),
    (
        "metadataKeyOperation",
        Labelled(DetailKind::Trait, "metadata key:"),
    ),
    (
        "vmInstanceName",
        Value(IndicatorKind::Instance, IndicatorRole::Related),
    ),
    (
        "containerName",
        Value(IndicatorKind::Container, IndicatorRole::Target),
    ),
    (
        "containerImageUri",
        Value(IndicatorKind::Image, IndicatorRole::Related),
    ),
    (
        "containerImageId",
        Value(IndicatorKind::Image, IndicatorRole::Related),
    ),
    (
        "podName",
        Value(IndicatorKind::Container, IndicatorRole::Target),
    ),
    (
        "processName",
        Value(IndicatorKind::Process, IndicatorRole::Related),
    ),
    (
        "processBinaryFullpath",
        Value(IndicatorKind::File, IndicatorRole::Related),
    ),
    (
        "addedLibraryFullpath",
        Value(IndicatorKind::File, IndicatorRole::Related),
    ),
    (
        "scriptFilename",
        Value(IndicatorKind::File, IndicatorRole::Related),
    ),
    ("scriptContent", Text),
    (
        "reverseShellStdinRedirectionDstIp",
        Value(IndicatorKind::Ip, IndicatorRole::Remote),
    ),
    (
        "reverseShellStdinRedirectionDstPort",
        Detail(DetailKind::RemotePort),
    ),
    (
        "reverseShellStdinRedirectionSrcIp",
        Value(IndicatorKind::Ip, IndicatorRole::Related),
    ),
    (
        "reverseShellStdinRedirectionSrcPort",
        Detail(DetailKind::LocalPort),
    ),
    (
        "walletAddress",
        Value(IndicatorKind::Wallet, IndicatorRole::Related),
    ),
    ("miningPool", FieldMapping::Host(IndicatorRole::Remote)),
    // Fields of references.
    ("gcpResourceName", Resource(IndicatorRole::Related)),
    ("sourceLogId", Record(log_entry)),
    ("contextUris", Record(related_findings)),
    ("changedPolicy", Detail(DetailKind::Control)),
    ("policyDriftDetails", Record(drift)),
    ("complianceStandards", Record(standards)),
];

pub(super) fn read_source_properties(draft: &mut Draft, source: Node<'_>) {
    walk(draft, source, MAX_DEPTH);
}

/// [`FIELDS`] by their folded names.
static BY_NAME: LazyLock<HashMap<String, &FieldMapping, RandomState>> = LazyLock::new(|| {
    let fields = FIELDS.iter();
    fields
        .map(|(name, reading)| (fold_key(name), reading))
        .collect()
});

/// Fields of a record that name the caller.
const CALLERS: [&str; 3] = ["principalEmail", "principalSubject", "userEmail"];
const CALLED_FROM: [&str; 2] = ["callerIp", "sourceIp"];

/// The reading of those fields in a report of Google about an event of an account.
const NOTICE_MAPPING: FieldMapping = Member(IndicatorRole::Target);

/// Adds the callers of one record.
fn add_callers(draft: &mut Draft, record: Node<'_>) {
    let at = |key: &str| record.at(key).items();
    let record = CallRecord {
        principals: CALLERS
            .into_iter()
            .filter(|_| !is_notice(record))
            .flat_map(at)
            .filter_map(canonical_member)
            .collect(),
        access_keys: Vec::new(),
        addresses: CALLED_FROM
            .into_iter()
            .flat_map(at)
            .filter_map(address)
            .collect(),
    };
    draft.add_call(&record);
}

fn walk(draft: &mut Draft, node: Node<'_>, depth: usize) {
    let is_notice = is_notice(node);
    if node.is_object() {
        add_callers(draft, node);
    }
    for (key, child) in node.members() {
        let name = fold_key(key);
        match name.as_str() {
            "methodname" => read_operation(draft, node),
            "commandline" | "processarguments" | "programarguments" => command(draft, child),
            _ => {}
        }
        let known = match CALLERS
            .iter()
            .any(|caller| is_notice && fold_key(caller) == name)
        {
            true => Some(&&NOTICE_MAPPING),
            false => BY_NAME.get(&name),
        };
        for item in child.items() {
            if let Some(reading) = known {
                reading.apply(draft, item);
            }
            let is_read = matches!(known, Some(Record(_)));
            match depth.checked_sub(1) {
                _ if is_read => {}
                Some(depth) => walk(draft, item, depth),
                // A deeper record may name an actor.
                None => draft.is_actor_dropped |= item.members().next().is_some(),
            }
        }
    }
}

/// Adds an address from which a service was changed, and the actor.
fn bad_ip(draft: &mut Draft, node: Node<'_>) {
    let from = draft.add(IndicatorKind::Ip, IndicatorRole::Actor, node.at("ip"));
    draft.add_call(&CallRecord {
        principals: canonical_member(node.at("principalEmail"))
            .into_iter()
            .collect(),
        access_keys: Vec::new(),
        addresses: from,
    });
    walk(draft, node, MAX_DEPTH);
}

/// Adds an unusual location of an actor: the rule's record and its location.
fn location(draft: &mut Draft, node: Node<'_>) {
    if !node.is_object() {
        return;
    }
    walk(draft, node, MAX_DEPTH);
    let ip = address(node.at("callerIp"));
    draft.add_detail_about(
        DetailKind::Country,
        node.at("anomalousLocation"),
        ip.as_deref(),
    );
    let mut usual = Vec::new();
    for_each_descendant(
        node,
        "typicalGeolocations/country/identifier",
        &mut |country| {
            usual.extend(country.str());
        },
    );
    if !usual.is_empty() {
        let written = format!("usual countries: {}", usual.join(", "));
        draft.add_detail_text(DetailKind::Trait, &written, None);
    }
}

/// Adds a log-in attempt of "Brute Force: SSH". A failed log-in may use any name.
fn attempt(draft: &mut Draft, attempt: Node<'_>) {
    let result = attempt.at("authResult");
    let has_succeeded = result.is("SUCCESS");
    let (role, outcome) = match has_succeeded {
        true => (IndicatorRole::Actor, Outcome::Succeeded),
        false => (IndicatorRole::Related, Outcome::Failed),
    };
    if result.exists() && (has_succeeded || draft.outcome.is_none()) {
        draft.outcome = Some(outcome);
    }
    let from = attempt.at("sourceIp");
    let addresses = draft.add(IndicatorKind::Ip, IndicatorRole::Actor, from);
    let principals = draft.add(IndicatorKind::Principal, role, attempt.at("username"));
    if has_succeeded {
        draft.add_call(&CallRecord {
            principals,
            access_keys: Vec::new(),
            addresses,
        });
    }
    draft.add(
        IndicatorKind::Instance,
        IndicatorRole::Target,
        attempt.at("vmName"),
    );
    draft.add_detail_about(DetailKind::AuthResult, result, address(from).as_deref());
    for key in ["attemptCount", "count"] {
        draft.add_detail_about(
            DetailKind::EventCount,
            attempt.at(key),
            address(from).as_deref(),
        );
    }
}

/// Adds a group that was changed.
fn group(draft: &mut Draft, name: Node<'_>) {
    if let Some(plain) = add_member(draft, IndicatorRole::Target, name) {
        draft.add_detail_text(DetailKind::Group, plain, None);
    }
}

/// Adds the roles of a group on a resource.
fn sensitive_roles(draft: &mut Draft, node: Node<'_>) {
    let resource = node.at("resource").str();
    for key in ["roles", "roleName"] {
        for role in node.at(key).items() {
            draft.add_detail_about(DetailKind::Permission, role, resource);
        }
    }
}

/// Adds roles of a member that must not be combined.
fn offending_roles(draft: &mut Draft, node: Node<'_>) {
    let who = add_member(draft, IndicatorRole::Related, node.at("description"));
    for role in node.at("roles").items() {
        draft.add_detail_about(DetailKind::Permission, role, who);
    }
}

/// Adds resources that a perimeter of VPC Service Controls no longer protects.
fn perimeter(draft: &mut Draft, delta: Node<'_>) {
    for (list, changes) in delta.members() {
        for change in changes.items() {
            let name = ["resourceName", "serviceName", "policyName", "name"];
            let name = name.iter().find_map(|key| change.at(key).str());
            let Some(name) = name else { continue };
            let action = change.at("action").str().unwrap_or("changed");
            let written = format!("{list}: {action} {name}");
            draft.add_detail_text(DetailKind::Trait, &written, None);
        }
    }
}

/// Adds a call of "Excessive Permission Denied Actions", which reports only refused calls.
///
/// <https://cloud.google.com/security-command-center/docs/findings/threats/excessive-permission-denied-actions>
fn denied_call(draft: &mut Draft, call: Node<'_>) {
    if !call.at("methodName").exists() {
        return;
    }
    draft.outcome.get_or_insert(Outcome::Denied);
    draft.add_detail_about(
        DetailKind::EventCount,
        call.at("attemptTimes"),
        call.at("methodName").str(),
    );
    walk(draft, call, MAX_DEPTH);
}

/// Adds a permission that was checked for a call.
fn authorization(draft: &mut Draft, check: Node<'_>) {
    draft.add_detail(DetailKind::Permission, check.at("permission"));
    if check.at("granted").value() == Some(&serde_json::Value::Bool(false)) {
        draft.outcome.get_or_insert(Outcome::Denied);
    }
}

/// Adds an attempt to reach a protected resource of a perimeter.
fn violation(draft: &mut Draft, node: Node<'_>) {
    draft.outcome.get_or_insert(Outcome::Denied);
    draft.add_detail(DetailKind::ErrorCode, node.at("violationReason"));
    walk(draft, node, MAX_DEPTH);
}

fn source_table(draft: &mut Draft, table: Node<'_>) {
    read_table(draft, table, IndicatorRole::Target);
}

fn destination_table(draft: &mut Draft, table: Node<'_>) {
    read_table(draft, table, IndicatorRole::Remote);
}

/// Adds a BigQuery table.
fn read_table(draft: &mut Draft, table: Node<'_>, role: IndicatorRole) {
    let parts = ["projectId", "datasetId", "tableId"].map(|key| table.at(key).str());
    let name: Vec<&str> = parts.into_iter().flatten().collect();
    let name = name.join(".");
    draft.add_text(IndicatorKind::Database, role, &name);
    if role != IndicatorRole::Remote {
        return;
    }
    let [project, ..] = parts;
    data_leaves(draft, project);
    if let Some(project) = project {
        add_other_account(draft, project, &name);
    }
}

/// Adds the destination of a BigQuery extract: a bucket or a folder of Drive.
fn destination(draft: &mut Draft, node: Node<'_>) {
    data_leaves(draft, None);
    storage_uri(draft, node.at("originalUri"));
    if let Some(name) = node.at("collectionName").str() {
        let is_drive = node
            .at("collectionType")
            .str()
            .is_some_and(|kind| kind.contains("DRIVE"));
        if is_drive {
            let written = format!("data went to folder {name} of Google Drive");
            draft.add_detail_text(DetailKind::Trait, &written, None);
        } else {
            draft.add_text(IndicatorKind::Bucket, IndicatorRole::Remote, name);
        }
    }
}

/// Adds `gs://bucket/object`, or the address of another service.
fn storage_uri(draft: &mut Draft, uri: Node<'_>) {
    let Some(text) = uri.str() else { return };
    match text.strip_prefix("gs://") {
        Some(path) => {
            let bucket = path.split('/').next().unwrap_or(path);
            draft.add_text(IndicatorKind::Bucket, IndicatorRole::Remote, bucket);
        }
        None => {
            draft.add_derived(IndicatorKind::Url, IndicatorRole::Remote, text, uri);
        }
    }
    draft.add_detail_text(DetailKind::Trait, &format!("data went to {text}"), None);
}

fn remote_resource(draft: &mut Draft, name: Node<'_>) {
    add_data_end(draft, IndicatorRole::Remote, name);
}

/// Adds the context of an indicator address.
fn indicator_context(draft: &mut Draft, node: Node<'_>) {
    let ip = address(node.at("ipAddress"));
    for (kind, key) in [
        (DetailKind::Country, "countryCode"),
        (DetailKind::Organisation, "organizationName"),
        (DetailKind::Organisation, "carrierName"),
    ] {
        draft.add_detail_about(kind, node.at(key), ip.as_deref());
    }
    if let Some(number) = node.at("asn").text() {
        let number = number.trim_start_matches("AS");
        draft.add_detail_text(DetailKind::Asn, &format!("AS{number}"), ip.as_deref());
    }
    draft.add(
        IndicatorKind::Domain,
        IndicatorRole::Related,
        node.at("reverseDnsDomain"),
    );
}

/// Adds a DNS query. The client is a machine of the organisation.
fn dns(draft: &mut Draft, node: Node<'_>) {
    draft.add(
        IndicatorKind::Ip,
        IndicatorRole::Related,
        node.at("sourceIp"),
    );
    let name = node.at("queryName");
    draft.add(IndicatorKind::Domain, IndicatorRole::Remote, name);
    draft.add_detail(DetailKind::DnsQuery, name);
    for_each_descendant(node, "responseData/responseValue", &mut |value| {
        draft.add(IndicatorKind::Ip, IndicatorRole::Related, value);
    });
}

/// Adds ports that Security Health Analytics found open.
fn accessible_ports(draft: &mut Draft, node: Node<'_>) {
    let protocol = node.at("ipProtocol").str().unwrap_or("any protocol");
    let ports: Vec<String> = node.at("ports").items().filter_map(Node::text).collect();
    let written = format!("open to the internet: {protocol} {}", ports.join(", "));
    draft.add_detail_text(DetailKind::Exposure, &written, None);
    for port in ports {
        draft.add_detail_text(DetailKind::LocalPort, &port, None);
    }
}

/// Adds a command line, as one text or as a list of words.
fn command(draft: &mut Draft, node: Node<'_>) {
    let words: Vec<String> = node.items().filter_map(argument).collect();
    let line = match (words.as_slice(), node.str()) {
        ([_], Some(text)) => text.to_owned(),
        _ => words.join(" "),
    };
    draft.add_detail_text(DetailKind::CommandLine, &line, None);
    draft.add_from_text(&line);
}

/// Adds the related findings that links of a finding name.
fn related_findings(draft: &mut Draft, links: Node<'_>) {
    for link in links.at("relatedFindingUri").items() {
        let name = [link.at("displayName"), link.at("url")];
        if let Some(name) = name.iter().find_map(|node| node.str()) {
            draft.add_detail_text(DetailKind::RelatedFinding, name, None);
        }
    }
}

/// Adds controls by their standard, as Security Health Analytics writes them.
fn standards(draft: &mut Draft, node: Node<'_>) {
    for (standard, versions) in node.members() {
        for version in versions.items() {
            let text = version.at("version").text().unwrap_or_default();
            for id in version.at("ids").items().filter_map(Node::text) {
                let written = format!("{standard} {text} {id}");
                draft.add_detail_text(DetailKind::Control, &written, None);
            }
        }
    }
}
