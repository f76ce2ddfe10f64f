//! Builds Security Command Center findings, whose resource follows from the category.

use super::*;
use crate::vendor_names::{SCC_CATEGORIES, pairs};

const VM: &str =
    "//compute.googleapis.com/projects/pay-prod/zones/europe-west1-b/instances/6871234567890123456";
const CLUSTER: &str =
    "//container.googleapis.com/projects/pay-prod/locations/europe-west1/clusters/pay-1";
const PROJECT: &str = "//cloudresourcemanager.googleapis.com/projects/pay-prod";

/// Words of categories, their resource and its type. The last row is for all others.
const RESOURCES: [(&[&str], &str, &str); 5] = [
    (
        &[
            "Kubernetes",
            "GKE",
            "Pod",
            "ClusterRole",
            "Workload",
            "Container",
        ],
        CLUSTER,
        "google.container.Cluster",
    ),
    (
        &["BigQuery"],
        "//bigquery.googleapis.com/projects/pay-prod/datasets/ledger",
        "google.cloud.bigquery.Dataset",
    ),
    (
        &["SQL", "CloudDB", "Database", "AlloyDB"],
        "//cloudsql.googleapis.com/projects/pay-prod/instances/pay-db",
        "google.cloud.sql.Instance",
    ),
    (
        &[
            "alware",
            "ryptocurrency",
            "Brute",
            "kernel",
            "Rootkit",
            "handler",
            "SSH",
            "DoS",
            "Boot Disk",
        ],
        VM,
        "google.compute.Instance",
    ),
    (&[""], PROJECT, "google.cloud.resourcemanager.Project"),
];

pub(super) fn cases() -> Vec<CorpusCase> {
    pairs(SCC_CATEGORIES)
        .map(|(class, category)| case(class, category))
        .collect()
}

fn case(class: &str, category: &str) -> CorpusCase {
    let (_, resource, resource_type) = RESOURCES
        .iter()
        .find(|(words, _, _)| words.iter().any(|word| category.contains(word)))
        .unwrap();
    let name = "organizations/123456789012/sources/5678901234567890123/findings/6b1e8a1c2d3b4c5d8e9f0a1b2c3d4e5f";
    let mut finding = json!({
        "name": name, "canonicalName": name, "parent": "organizations/123456789012/sources/5678901234567890123",
        "resourceName": resource, "state": "ACTIVE", "category": category, "findingClass": class, "severity": "HIGH",
        "eventTime": "2026-11-26T01:05:00Z", "createTime": "2026-11-26T01:06:00Z", "mute": "UNDEFINED",
        "description": format!("Security Command Center found {category}."),
        "nextSteps": "Look at the resource.",
        "externalUri": "https://console.cloud.google.com/home",
    });
    let mut roles = Vec::new();
    if class == "THREAT" {
        let (evidence, told) = evidence(category);
        extend(&mut finding, evidence);
        roles = told;
    }
    CorpusCase {
        finding: json!({
            "notificationConfigName": "organizations/123456789012/notificationConfigs/all",
            "finding": finding,
            "resource": {"name": resource, "type": resource_type, "project": PROJECT, "projectDisplayName": "pay-prod",
                "displayName": "pay", "location": "europe-west1"},
        }),
        kind: category.to_owned(),
        resource: Some((*resource).to_owned()),
        roles,
        class: match class {
            "THREAT" => FindingClass::Threat,
            "VULNERABILITY" => FindingClass::Vulnerability,
            "SENSITIVE_DATA_RISK" => FindingClass::SensitiveData,
            "SCC_ERROR" => FindingClass::Other,
            _ => FindingClass::Posture,
        },
        severity: Severity::High,
    }
}

/// Returns a detector's fields beside the category, and the roles that follow from them.
fn evidence(category: &str) -> (Value, Vec<(IndicatorRole, IndicatorKind, String)>) {
    let contains = |words: &[&str]| words.iter().any(|word| category.contains(word));
    if contains(&["Bad Domain"]) {
        let told = json!({"indicator": {"domains": [DOMAIN]}});
        return (
            told,
            vec![role(IndicatorRole::Remote, IndicatorKind::Domain, DOMAIN)],
        );
    }
    if contains(&["Bad IP", "DoS"]) {
        let told = json!({"indicator": {"ipAddresses": [FAR_END]}, "connections": [
            {"sourceIp": "10.0.0.7", "sourcePort": 41000, "destinationIp": FAR_END, "destinationPort": 443, "protocol": "TCP"}]});
        return (
            told,
            vec![role(IndicatorRole::Remote, IndicatorKind::Ip, FAR_END)],
        );
    }
    if contains(&["Binary", "Library", "Shell", "Script", "Hash Match", "YARA"]) {
        let told = json!({"processes": [{"name": "xmrig", "pid": "4711", "binary": {"path": "/tmp/xmrig",
            "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}, "args": ["xmrig", "-o", "pool"]}]});
        return (told, Vec::new());
    }
    let access = json!({"access": {"principalEmail": "alice@example.com", "callerIp": FAR_END,
        "callerIpGeo": {"regionCode": "NL"}, "serviceName": "iam.googleapis.com",
        "methodName": "google.iam.admin.v1.CreateServiceAccountKey"}});
    let roles = vec![
        role(
            IndicatorRole::Actor,
            IndicatorKind::Principal,
            "alice@example.com",
        ),
        role(IndicatorRole::Actor, IndicatorKind::Ip, FAR_END),
    ];
    (access, roles)
}
