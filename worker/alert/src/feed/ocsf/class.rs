//! Finds the class of an OCSF finding.

use serde_json::Value;

use super::super::Node;
use crate::FindingClass;

/// Classes of category 2 with their names: <https://schema.ocsf.io/1.8.0/categories/findings>.
const CLASSES: [(u64, &str, FindingClass); 8] = [
    (2001, "Security Finding", FindingClass::Threat),
    (2002, "Vulnerability Finding", FindingClass::Vulnerability),
    (2003, "Compliance Finding", FindingClass::Posture),
    (2004, "Detection Finding", FindingClass::Threat),
    (2005, "Incident Finding", FindingClass::Threat),
    (2006, "Data Security Finding", FindingClass::SensitiveData),
    (
        2007,
        "Application Security Posture Finding",
        FindingClass::Posture,
    ),
    (2008, "IAM Analysis Finding", FindingClass::Posture),
];

/// Security Hub's kinds of findings among the types, alone or before a `/`, in the newer form and in that of ASFF.
/// The first match counts.
const CATEGORIES: [(&str, FindingClass); 11] = [
    ("Threats", FindingClass::Threat),
    ("TTPs", FindingClass::Threat),
    ("Effects", FindingClass::Threat),
    ("Unusual Behaviors", FindingClass::Threat),
    ("Vulnerabilities", FindingClass::Vulnerability),
    (
        "Software and Configuration Checks/Vulnerabilities",
        FindingClass::Vulnerability,
    ),
    ("Sensitive Data", FindingClass::SensitiveData),
    (
        "Sensitive Data Identifications",
        FindingClass::SensitiveData,
    ),
    ("Posture Management", FindingClass::Posture),
    // A combination that can be reached and misused: a toxic combination.
    ("Exposure", FindingClass::Threat),
    ("Software and Configuration Checks", FindingClass::Posture),
];

/// Results of a check, as `status_code` and `compliance.status` have them.
const RESULTS: [&str; 8] = [
    "PASS",
    "PASSED",
    "COMPLIANT",
    "FAIL",
    "FAILED",
    "NON_COMPLIANT",
    "MANUAL",
    "WARNING",
];

/// Members of an evidence that describe no event.
const NO_EVENT: [&str; 5] = ["data", "name", "uid", "verdict", "verdict_id"];

/// Returns the number of the class, which is also the prefix of the type's number.
pub(super) fn class_uid(node: Node<'_>) -> Option<u64> {
    let of_type = || Some(node.at("type_uid").count()? / 100);
    node.at("class_uid").count().or_else(of_type)
}

/// Returns whether the class is of category 2, whose states and activities are those of a finding.
pub(super) fn is_finding(node: Node<'_>) -> bool {
    class_uid(node).is_none_or(|class| (2000..3000).contains(&class))
}

/// Returns whether the finding is an incident (class 2005), whose states have other numbers.
///
/// <https://schema.ocsf.io/1.3.0/classes/incident_finding>
pub(super) fn is_incident(node: Node<'_>) -> bool {
    class_uid(node) == Some(2005)
}

/// Returns the name of a class of findings.
pub(super) fn class_name(node: Node<'_>) -> Option<&'static str> {
    let uid = class_uid(node)?;
    let known = CLASSES.iter().find(|(known, ..)| *known == uid)?;
    Some(known.1)
}

/// Returns whether a type is a category alone. Below software checks the next part is a standard.
pub(super) fn is_category(text: &str) -> bool {
    let mut categories = CATEGORIES.iter();
    categories.any(|(name, _)| text.eq_ignore_ascii_case(name))
        || strip_category(text, "Software and Configuration Checks").is_some()
}

/// Returns whether a type is more specific than Security Hub's categories and their subcategories, such as
/// `TTPs/Discovery/Recon:EC2-PortScan`, or is outside of them.
pub(super) fn is_specific(text: &str) -> bool {
    let mut categories = CATEGORIES.iter();
    let rest = categories.find_map(|(name, _)| strip_category(text, name));
    !is_category(text) && rest.is_none_or(|rest| rest.contains([':', '/']))
}

/// Returns the class of a finding. Malware is always a threat. Otherwise the category among the types decides, then
/// the OCSF class. A detection may be the result of a check, and a data finding may be a theft.
pub(super) fn finding_class(node: Node<'_>, info: Node<'_>) -> FindingClass {
    let uid = class_uid(node);
    let known = CLASSES.iter().find(|(known, ..)| Some(*known) == uid);
    let by_uid = known.map_or(FindingClass::Threat, |(.., class)| *class);
    let has = |key: &str| node.at(key).items().any(Node::exists);
    if by_uid == FindingClass::Threat && has("malware") {
        return FindingClass::Threat;
    }
    if let Some((_, class)) = category(info) {
        return class;
    }
    let is_attack = has("attacks") || info.at("attacks").items().any(Node::exists);
    match uid {
        Some(2001 | 2004) if is_check(node, is_attack) => FindingClass::Posture,
        Some(2006) if is_attack || has("malware") || node.at("is_alert").is_true() => {
            FindingClass::Threat
        }
        Some(2007) if has("vulnerabilities") => FindingClass::Vulnerability,
        _ => by_uid,
    }
}

/// Returns the product's own name for the class: the category, else the name of the OCSF class.
pub(super) fn class_sent(node: Node<'_>, info: Node<'_>) -> Option<String> {
    category(info)
        .map(|(word, _)| word)
        .or_else(|| node.at("class_name").text())
        .or_else(|| class_name(node).map(str::to_owned))
}

/// Returns the category among the types of a finding and the type that has it. Threats have precedence.
fn category(info: Node<'_>) -> Option<(String, FindingClass)> {
    let types: Vec<String> = info.at("types").items().filter_map(Node::text).collect();
    CATEGORIES.iter().find_map(|(name, class)| {
        let told = types
            .iter()
            .find(|text| strip_category(text, name).is_some())?;
        Some((told.clone(), *class))
    })
}

/// Returns the part of a type after a category.
fn strip_category<'a>(text: &'a str, category: &str) -> Option<&'a str> {
    let head = text.get(..category.len())?;
    let rest = text.get(category.len()..)?;
    let is_whole = rest.is_empty() || rest.starts_with('/');
    (is_whole && head.eq_ignore_ascii_case(category)).then(|| rest.trim_start_matches('/'))
}

/// Returns whether a value is a result of a check.
pub(super) fn is_result(at: Node<'_>) -> bool {
    RESULTS.iter().any(|word| at.is(word))
}

/// Returns whether the finding is the result of a check: it has a control and no attack, or such a result and no event.
/// A check may name the techniques that it prevents.
fn is_check(node: Node<'_>, is_attack: bool) -> bool {
    let mut evidences = node.at("evidences").items();
    let is_event = holds_value(node.at("actor"))
        || evidences.any(|evidence| {
            let mut members = evidence.members();
            members.any(|(key, value)| !NO_EVENT.contains(&key) && holds_value(value))
        });
    let results = [node.at("status_code"), node.path("compliance/status")];
    let is_told = results.into_iter().any(is_result);
    (node.at("compliance").is_object() && !is_attack) || (is_told && !is_event)
}

/// Returns whether a value, or any value in it, is neither `null` nor empty.
fn holds_value(node: Node<'_>) -> bool {
    match node.value() {
        Some(Value::Object(_)) => node.members().any(|(_, member)| holds_value(member)),
        Some(Value::Array(_)) => node.items().any(holds_value),
        Some(Value::String(text)) => !text.trim().is_empty(),
        other => other.is_some_and(|value| !value.is_null()),
    }
}
