//! Reads Google Security Command Center findings: notifications of API v1 and v2, list results, and bare findings.
//!
//! <https://cloud.google.com/security-command-center/docs/reference/rest/v2/organizations.sources.findings>. The key is
//! the finding's own id and the project of its resource. Both stay the same while the name and parent differ: v2 puts
//! `/locations/…` into the name, and a listing by project names another parent. Google Security Operations has
//! `findings` for `finding`, snake case, and `sourceProperties` beside them:
//! <https://cloud.google.com/chronicle/docs/ingestion/default-parsers/collect-security-command-center-findings>.

mod access;
mod connection;
mod entities;
mod fields;
mod kubernetes;
mod location;
mod records;
mod resource_name;
mod source_properties;
mod techniques;

use super::{Draft, Node};
use crate::error::describe;
use crate::severity::{severity_from_product, severity_or_default};
use crate::{DetailKind, FindingClass, Outcome, ReadError, Severity};

pub(super) fn recognises(node: Node<'_>) -> bool {
    let is_finding = |finding: Node<'_>| {
        let named = finding
            .at("name")
            .str()
            .is_some_and(|name| name.contains("/findings/"));
        let canonical = finding.at("canonicalName").exists();
        (named || canonical)
            && (finding.at("category").exists() || finding.at("resourceName").exists())
            || (finding.at("category").exists()
                && finding.at("resourceName").exists()
                && finding.at("parent").exists())
    };
    wrapped_finding(node).is_some_and(|(_, finding)| is_finding(finding)) || is_finding(node)
}

/// Returns the finding that is wrapped with its resource, and its key.
fn wrapped_finding(node: Node<'_>) -> Option<(&'static str, Node<'_>)> {
    ["finding", "findings"]
        .into_iter()
        .map(|key| (key, node.at(key)))
        .find(|(_, finding)| finding.is_object())
}

pub(super) fn read_finding(node: Node<'_>) -> Result<Draft, ReadError> {
    let nothing = Node::new(&serde_json::Value::Null);
    let (prefix, finding, resource) = match wrapped_finding(node) {
        Some((key, finding)) => (format!("/{key}"), finding, node.at("resource")),
        None => (String::new(), node, nothing),
    };
    let source = match finding.at("sourceProperties") {
        own if own.members().next().is_some() => own,
        _ => node.at("sourceProperties"),
    };
    let prefix = prefix.as_str();
    let name = finding
        .at("name")
        .str()
        .or(finding.at("canonicalName").str());
    let id = name
        .and_then(|name| name.rsplit_once("/findings/"))
        .map(|(_, id)| id.split('/').next().unwrap_or(id))
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            field_error(
                prefix,
                "name",
                "organizations/…/findings/<id>",
                finding.at("name"),
            )
        })?;
    let category = finding.at("category").text().ok_or_else(|| {
        field_error(
            prefix,
            "category",
            "the finding's category (a string)",
            finding.at("category"),
        )
    })?;

    let mut draft = Draft::new("scc", "scc", id, without_random_tail(&category));
    draft.finding_id = name.map(str::to_owned);
    heading(&mut draft, finding, source, &category);
    state(&mut draft, finding, source);
    location::read_location(&mut draft, finding, source, resource);
    techniques::read_techniques(&mut draft, finding, source);
    for one in draft.records(finding.at("access")) {
        access::read_access(&mut draft, one);
    }
    access::read_data_events(&mut draft, finding);
    for connection in draft.records(finding.at("connections")) {
        connection::read_connection(&mut draft, connection);
    }
    source_properties::read_source_properties(&mut draft, source);
    records::read_records(&mut draft, finding);
    entities::read_entities(&mut draft, finding);
    kubernetes::read_kubernetes(&mut draft, finding.at("kubernetes"));
    for indicator in [finding.at("indicator"), source.at("properties")] {
        entities::indicators(&mut draft, indicator);
    }
    outcome(&mut draft, finding, &category);
    draft.unify_project();
    Ok(draft)
}

/// Sets the outcome, where no call had one.
fn outcome(draft: &mut Draft, finding: Node<'_>, category: &str) {
    access::read_status(draft, finding.path("status/code"));
    access::read_job_state(draft, finding.path("job/state"));
    if category == LOGIN_BLOCKED {
        draft.outcome = Some(Outcome::Blocked);
    }
}

/// The category of blocked log-ins, which no field reports.
const LOGIN_BLOCKED: &str = "Initial Access: Suspicious Login Blocked";

fn field_error(prefix: &str, key: &str, expected: &str, found: Node<'_>) -> ReadError {
    ReadError::Field {
        feed: "scc".to_owned(),
        path: format!("{prefix}/{key}"),
        expected: expected.to_owned(),
        found: describe(found.value()),
    }
}

fn heading(draft: &mut Draft, finding: Node<'_>, source: Node<'_>, category: &str) {
    draft.title = category.to_owned();
    let description = ["description", "explanation", "summaryMessage"];
    draft.description = [finding.at("description")]
        .into_iter()
        .chain(description.map(|key| source.at(key)))
        .find_map(Node::text)
        .unwrap_or_default();
    draft.remediation = [finding.at("nextSteps"), source.at("recommendation")]
        .into_iter()
        .find_map(Node::text);
    draft.class_sent = enum_word(finding.at("findingClass"), &CLASSES);
    draft.class = class(draft.class_sent.as_deref(), finding.at("parentDisplayName"));
    if draft.class == FindingClass::Posture {
        let control = draft.kind.clone();
        draft.add_detail_text(DetailKind::Control, &control, None);
    }
    draft.severity_sent = enum_word(finding.at("severity"), &SEVERITIES).unwrap_or_default();
    let priority = || severity_from_product("scc", source.at("detectionPriority").str()?);
    let known = severity_from_product("scc", &draft.severity_sent).or_else(priority);
    (draft.severity, draft.unknown_severity) = match known {
        Some(known) => (known, false),
        None if draft.severity_sent == UNSPECIFIED => (Severity::Medium, false),
        None => severity_or_default("scc", &draft.severity_sent),
    };
    times(draft, finding);
}

fn times(draft: &mut Draft, finding: Node<'_>) {
    draft.times.created = finding.at("createTime").time();
    draft.times.updated = finding
        .at("updateTime")
        .time()
        .or_else(|| finding.at("eventTime").time());
    // `eventTime` becomes the time of the last change. A changed finding began no later than its creation.
    let first = match (finding.at("eventTime").time(), draft.times.created) {
        (Some(event), Some(created)) if created < event => "createTime",
        _ => "eventTime",
    };
    draft.set_event_times(finding.at(first), finding.at("eventTime"));
}

/// Names of the API's enumerated values by their numbers, which some clients write instead.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rpc/google.cloud.securitycenter.v2#finding>
const CLASSES: [&str; 10] = [
    "FINDING_CLASS_UNSPECIFIED",
    "THREAT",
    "VULNERABILITY",
    "MISCONFIGURATION",
    "OBSERVATION",
    "SCC_ERROR",
    "POSTURE_VIOLATION",
    "TOXIC_COMBINATION",
    "SENSITIVE_DATA_RISK",
    "CHOKEPOINT",
];
const UNSPECIFIED: &str = "SEVERITY_UNSPECIFIED";
const SEVERITIES: [&str; 5] = [UNSPECIFIED, "CRITICAL", "HIGH", "MEDIUM", "LOW"];
const STATES: [&str; 3] = ["STATE_UNSPECIFIED", "ACTIVE", "INACTIVE"];
const MUTES: [&str; 5] = ["MUTE_UNSPECIFIED", "MUTED", "UNMUTED", "", "UNDEFINED"];

/// Returns a word, or the word of its number.
fn enum_word(node: Node<'_>, words: &[&str]) -> Option<String> {
    let by_number = node
        .count()
        .filter(|_| node.number().is_some_and(|number| number.fract() == 0.0));
    let word = by_number.and_then(|number| words.get(usize::try_from(number).ok()?));
    word.map(|word| (*word).to_owned()).or_else(|| node.text())
}

/// Returns the class by SCC's finding class. A finding without one is a detection, unless its detector makes none.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/FindingClass>
fn class(word: Option<&str>, detector: Node<'_>) -> FindingClass {
    match word.map(str::to_ascii_uppercase).as_deref() {
        Some("THREAT" | "TOXIC_COMBINATION") => FindingClass::Threat,
        Some("VULNERABILITY") => FindingClass::Vulnerability,
        Some("MISCONFIGURATION" | "POSTURE_VIOLATION" | "CHOKEPOINT") => FindingClass::Posture,
        Some("SENSITIVE_DATA_RISK") => FindingClass::SensitiveData,
        None | Some("FINDING_CLASS_UNSPECIFIED") => match detector.str() {
            Some("Security Health Analytics" | "Security Posture") => FindingClass::Posture,
            Some("Web Security Scanner") => FindingClass::Vulnerability,
            _ => FindingClass::Threat,
        },
        Some(_) => FindingClass::Other,
    }
}

/// Returns a category without a UUID, a digest or a long number at its end, which differ per finding.
fn without_random_tail(category: &str) -> &str {
    const SEPARATORS: [char; 8] = [' ', '-', '_', ':', '/', '.', '#', '('];
    let text = category.trim().trim_end_matches(')');
    let uuid = text
        .len()
        .checked_sub(36)
        .and_then(|at| text.split_at_checked(at));
    let (head, tail) = match uuid {
        Some((head, tail)) if tail.matches('-').count() == 4 => (head, tail),
        _ => text
            .rfind(SEPARATORS)
            .and_then(|at| text.split_at_checked(at + 1))
            .unwrap_or((text, "")),
    };
    let digits = tail.bytes().filter(u8::is_ascii_digit).count();
    let letters = tail.bytes().filter(u8::is_ascii_hexdigit).count() - digits;
    let is_hex = tail.len() == digits + letters + tail.matches('-').count();
    let is_random =
        is_hex && digits > 0 && (digits + letters >= 16 || letters == 0 && digits >= 10);
    let head = head.trim_end_matches(SEPARATORS);
    if is_random && !head.is_empty() {
        head
    } else {
        category.trim()
    }
}

fn state(draft: &mut Draft, finding: Node<'_>, source: Node<'_>) {
    let is = |key: &str, words: &[&str], wanted: &str| {
        enum_word(finding.at(key), words).is_some_and(|word| word.eq_ignore_ascii_case(wanted))
    };
    draft.state.inactive = is("state", &STATES, "INACTIVE");
    draft.state.suppressed = is("mute", &MUTES, "MUTED");
    let marks = finding.path("securityMarks/marks");
    draft.state.sample = finding.at("sample").is_true()
        || marks.at("sample").is_true()
        || source.at("sample").is_true();
}
