//! Finds the class of a finding by its product, its check or its types.
//!
//! | input | class |
//! |---|---|
//! | products of [`POSTURE_PRODUCTS`]: Config, Access Analyzer, Patch Manager, … | posture |
//! | Macie | posture for its policy findings, else sensitive data |
//! | Health about a risk or an abuse | threat |
//! | a software check that lists vulnerabilities | vulnerability |
//! | `Compliance` with a control or a status | posture |
//! | `TTPs/…`, `Effects/…`, `Unusual Behaviors/…` | threat |
//! | `Software and Configuration Checks/Vulnerabilities/…` | vulnerability |
//! | `Software and Configuration Checks/…`, network reachability of Inspector among them | posture |
//! | `Sensitive Data Identifications/…` | sensitive data |
//! | anything else | threat; vulnerability where it names packages alone |

use super::super::Node;
use crate::FindingClass;

/// Amazon products that check configurations. Their types may name possible consequences.
const POSTURE_PRODUCTS: [&str; 6] = [
    "access-analyzer",
    "config",
    "iot-device-defender-audit",
    "ssm-patch-manager",
    "systems-manager-patch-manager",
    "trusted-advisor",
];

/// Classes by prefixes of types:
/// <https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings-format-type-taxonomy.html>. The
/// first matching row counts, so that activity is never filed under a check.
const NAMESPACES: [(&str, FindingClass); 6] = [
    ("TTPs", FindingClass::Threat),
    ("Effects", FindingClass::Threat),
    ("Unusual Behaviors", FindingClass::Threat),
    (
        "Software and Configuration Checks/Vulnerabilities",
        FindingClass::Vulnerability,
    ),
    (
        "Sensitive Data Identifications",
        FindingClass::SensitiveData,
    ),
    ("Software and Configuration Checks", FindingClass::Posture),
];

/// Fields that make a `Compliance` the result of a check.
const RESULTS: [&str; 3] = ["Status", "SecurityControlId", "RelatedRequirements"];

/// Returns the class of a finding of any product but GuardDuty.
pub(super) fn finding_class(node: Node<'_>, product: &str, types: &[String]) -> FindingClass {
    if let Some(class) = by_product(node, product, types) {
        return class;
    }
    let by_type = by_type(types);
    let is_software_check = matches!(
        by_type,
        Some(FindingClass::Vulnerability | FindingClass::Posture)
    );
    let lists_vulnerabilities = node.at("Vulnerabilities").items().any(Node::is_object);
    let compliance = node.at("Compliance");
    let is_check = RESULTS.iter().any(|key| compliance.at(key).exists());
    let packages = || {
        !node
            .descendants("Vulnerabilities/VulnerablePackages")
            .is_empty()
    };
    match by_type {
        _ if is_software_check && lists_vulnerabilities => FindingClass::Vulnerability,
        _ if is_check => FindingClass::Posture,
        Some(class) => class,
        None if packages() => FindingClass::Vulnerability,
        None => FindingClass::Threat,
    }
}

fn by_product(node: Node<'_>, product: &str, types: &[String]) -> Option<FindingClass> {
    if POSTURE_PRODUCTS.contains(&product) {
        return Some(FindingClass::Posture);
    }
    let generator = node.at("GeneratorId").str().unwrap_or_default();
    match product {
        "macie" if types.iter().any(|text| text.contains("Policy:")) => Some(FindingClass::Posture),
        "macie" => Some(FindingClass::SensitiveData),
        // Leaked keys, and reported abuse by the account.
        "health" if generator.contains("_RISK_") || generator.contains("_ABUSE_") => {
            Some(FindingClass::Threat)
        }
        _ => None,
    }
}

fn by_type(types: &[String]) -> Option<FindingClass> {
    let mut namespaces = NAMESPACES.iter();
    namespaces
        .find(|(name, _)| {
            types
                .iter()
                .any(|text| strip_namespace(text, name).is_some())
        })
        .map(|(_, class)| *class)
}

/// Returns the part of a type after a namespace.
fn strip_namespace<'a>(text: &'a str, namespace: &str) -> Option<&'a str> {
    let head = text.get(..namespace.len())?;
    let rest = text.get(namespace.len()..)?;
    let is_whole = rest.is_empty() || rest.starts_with('/');
    (is_whole && head.eq_ignore_ascii_case(namespace)).then(|| rest.trim_start_matches('/'))
}

/// Returns whether a type is more specific than its namespace and category, such as
/// `TTPs/Discovery/Recon:EC2-PortScan`, or outside the taxonomy.
pub(super) fn is_specific(text: &str) -> bool {
    let mut namespaces = NAMESPACES.iter().filter(|(name, _)| !name.contains('/'));
    match namespaces.find_map(|(name, _)| strip_namespace(text, name)) {
        Some(rest) => rest.contains([':', '/']),
        None => true,
    }
}
