//! What sort of finding it is.

use super::super::Node;
use crate::Class;

/// Classes of category 2 with their names: <https://schema.ocsf.io/1.8.0/categories/findings>.
const CLASSES: [(u64, &str, Class); 8] = [
    (2001, "Security Finding", Class::Threat),
    (2002, "Vulnerability Finding", Class::Vulnerability),
    (2003, "Compliance Finding", Class::Posture),
    (2004, "Detection Finding", Class::Threat),
    (2005, "Incident Finding", Class::Threat),
    (2006, "Data Security Finding", Class::SensitiveData),
    (2007, "Application Security Posture Finding", Class::Posture),
    (2008, "IAM Analysis Finding", Class::Posture),
];

/// What Security Hub writes among the types of a finding, alone or before a `/`: its kind of finding, in the newer form and
/// in that of ASFF. The first that fits counts.
const CATEGORIES: [(&str, Class); 11] = [
    ("Threats", Class::Threat),
    ("TTPs", Class::Threat),
    ("Effects", Class::Threat),
    ("Unusual Behaviors", Class::Threat),
    ("Vulnerabilities", Class::Vulnerability),
    (
        "Software and Configuration Checks/Vulnerabilities",
        Class::Vulnerability,
    ),
    ("Sensitive Data", Class::SensitiveData),
    ("Sensitive Data Identifications", Class::SensitiveData),
    ("Posture Management", Class::Posture),
    // What can be reached and misused together: a toxic combination.
    ("Exposure", Class::Threat),
    ("Software and Configuration Checks", Class::Posture),
];

/// Results of a check, as `status_code` and `compliance.status` have them.
const RESULTS: [&str; 6] = ["PASS", "PASSED", "FAIL", "FAILED", "MANUAL", "WARNING"];

/// The number of the class, which that of the type begins with.
pub(super) fn uid(node: Node<'_>) -> Option<u64> {
    let of_type = || Some(node.at("type_uid").count()? / 100);
    node.at("class_uid").count().or_else(of_type)
}

/// Whether it is of category 2, whose states and activities are those of a finding.
pub(super) fn is_finding(node: Node<'_>) -> bool {
    uid(node).is_none_or(|class| (2000..3000).contains(&class))
}

/// Whether it gathers findings (class 2005), whose states have other numbers.
///
/// <https://schema.ocsf.io/1.3.0/classes/incident_finding>
pub(super) fn is_incident(node: Node<'_>) -> bool {
    uid(node) == Some(2005)
}

/// The name of a class of findings.
pub(super) fn name(node: Node<'_>) -> Option<&'static str> {
    let uid = uid(node)?;
    let known = CLASSES.iter().find(|(known, ..)| *known == uid)?;
    Some(known.1)
}

/// Whether a type is a category alone; what stands behind software checks is a standard.
pub(super) fn is_category(text: &str) -> bool {
    let mut categories = CATEGORIES.iter();
    categories.any(|(name, _)| text.eq_ignore_ascii_case(name))
        || within(text, "Software and Configuration Checks").is_some()
}

/// Whether a type says more than a category and what Security Hub puts below it: `TTPs/Discovery/Recon:EC2-PortScan`, or
/// one that is no category's.
pub(super) fn is_specific(text: &str) -> bool {
    let mut categories = CATEGORIES.iter();
    let rest = categories.find_map(|(name, _)| within(text, name));
    !is_category(text) && rest.is_none_or(|rest| rest.contains([':', '/']))
}

/// Returns the class of a finding: malware is a threat, whatever it is filed under; else by the category that is told among
/// its types, else by its class, of which a detection may be the result of a check, and an alert about data a theft.
pub(super) fn class(node: Node<'_>, info: Node<'_>) -> Class {
    let uid = uid(node);
    let known = CLASSES.iter().find(|(known, ..)| Some(*known) == uid);
    let by_uid = known.map_or(Class::Threat, |(.., class)| *class);
    let has = |key: &str| node.at(key).items().any(Node::exists);
    if by_uid == Class::Threat && has("malware") {
        return Class::Threat;
    }
    if let Some((_, class)) = category(info) {
        return class;
    }
    let is_attack = has("attacks") || info.at("attacks").items().any(Node::exists);
    match uid {
        Some(2001 | 2004) if !is_attack && is_check(node) => Class::Posture,
        Some(2006) if is_attack || has("malware") || node.at("is_alert").is_true() => Class::Threat,
        Some(2007) if has("vulnerabilities") => Class::Vulnerability,
        _ => by_uid,
    }
}

/// Returns the product's own word for the class: the category, else the name of the class.
pub(super) fn sent(node: Node<'_>, info: Node<'_>) -> Option<String> {
    category(info)
        .map(|(word, _)| word)
        .or_else(|| node.at("class_name").text())
        .or_else(|| name(node).map(str::to_owned))
}

/// The category that the types of a finding tell, with the type that tells it; threats before others.
fn category(info: Node<'_>) -> Option<(String, Class)> {
    let types: Vec<String> = info.at("types").items().filter_map(Node::text).collect();
    CATEGORIES.iter().find_map(|(name, class)| {
        let told = types.iter().find(|text| within(text, name).is_some())?;
        Some((told.clone(), *class))
    })
}

/// What follows a category in a type.
fn within<'a>(text: &'a str, category: &str) -> Option<&'a str> {
    let head = text.get(..category.len())?;
    let rest = text.get(category.len()..)?;
    let is_whole = rest.is_empty() || rest.starts_with('/');
    (is_whole && head.eq_ignore_ascii_case(category)).then(|| rest.trim_start_matches('/'))
}

/// Whether it is the result of a check: one with a control, or with such a result where nobody acted.
fn is_check(node: Node<'_>) -> bool {
    let code = node.at("status_code");
    let is_result = RESULTS.iter().any(|word| code.is(word));
    let is_event = ["evidences", "actor"]
        .iter()
        .any(|key| node.at(key).exists());
    node.at("compliance").is_object() || (is_result && !is_event)
}
