//! Reads state at the feed, severity and outcome.

use super::super::{Draft, Node};
use super::{class, descendants, evidence};
use crate::severity::severity_from_product;
use crate::{DetailKind, FindingClass, Outcome, Severity};

/// Dispositions that imply an outcome: <https://schema.ocsf.io/1.8.0/profiles/security_control>. Isolated, corrected
/// and revoked actions had succeeded before.
const DISPOSITIONS: [(u64, &str, Outcome); 7] = [
    (2, "Blocked", Outcome::Blocked),
    (3, "Quarantined", Outcome::Blocked),
    (5, "Deleted", Outcome::Blocked),
    (6, "Dropped", Outcome::Blocked),
    (21, "Reset", Outcome::Blocked),
    (25, "Rejected", Outcome::Blocked),
    (26, "Unauthorized", Outcome::Denied),
];

/// Favourable verdicts of an analyst or of the product, by `verdict_id`.
const FAVOURABLE: [(u64, &str); 4] = [
    (1, "False Positive"),
    (3, "Disregard"),
    (5, "Benign"),
    (6, "Test"),
];

pub(super) fn read_status(draft: &mut Draft, node: Node<'_>) {
    severity(draft, node);
    state(draft, node);
    draft.outcome = outcome(draft, node);
    for key in ["disposition", "impact"] {
        if let Some(text) = node.at(key).str() {
            draft.add_detail_text(DetailKind::Trait, &format!("{key} {text}"), None);
        }
    }
    for one in evidence::evidences(node) {
        read_verdict(draft, one);
    }
}

/// Adds an earlier verdict about a finding or an evidence. A favourable one is a claim.
fn read_verdict(draft: &mut Draft, node: Node<'_>) {
    let verdict = EnumValue::new(node, "verdict", "verdict_id");
    let favourable = FAVOURABLE
        .iter()
        .find(|(id, name)| verdict.is_value(*id, name));
    let (kind, text) = match (favourable, verdict.word) {
        (Some((_, name)), _) => (DetailKind::Claim, *name),
        (None, Some(text)) => (DetailKind::Trait, text),
        (None, None) => return,
    };
    // The wording is no instruction to a reader.
    draft.add_detail_text(kind, &format!("judged {text} by the product"), None);
}

/// A value of an enumeration: a number and its caption, either of which may be missing.
struct EnumValue<'a> {
    id: Option<u64>,
    word: Option<&'a str>,
}

impl<'a> EnumValue<'a> {
    fn new(node: Node<'a>, word: &str, id: &str) -> Self {
        Self {
            id: node.at(id).count().filter(|id| !matches!(id, 0 | 99)),
            word: node.at(word).str(),
        }
    }

    /// Returns whether the value is this one, by its number, else by its caption.
    fn is_value(&self, id: u64, caption: &str) -> bool {
        let by_word = || {
            self.word
                .is_some_and(|word| word.eq_ignore_ascii_case(caption))
        };
        self.id.map_or_else(by_word, |told| told == id)
    }
}

/// Sets the severity by number, else by word, else by the product's value before it was changed.
///
/// GuardDuty is read as in ASFF: a raised severity counts, and a lowered one does not.
fn severity(draft: &mut Draft, node: Node<'_>) {
    let given = node.at("vendor_attributes");
    let scale = |told| scale(told, &draft.product);
    let (now, first) = (scale(node), scale(given));
    let is_given = match draft.product.as_str() {
        "guardduty" => first > now,
        _ => now.is_none() && first.is_some(),
    };
    let told = if is_given { given } else { node };
    draft.severity = scale(told).unwrap_or(Severity::Medium);
    draft.severity_sent = ["severity", "severity_id"]
        .iter()
        .find_map(|key| told.at(key).text())
        .unwrap_or_default();
}

/// Returns `severity_id`, else the product's own value: 1 informational to 5 critical, 6 fatal; 0 and 99 are none.
fn scale(node: Node<'_>, product: &str) -> Option<Severity> {
    match node.at("severity_id").count() {
        Some(1) => Some(Severity::Informational),
        Some(2) => Some(Severity::Low),
        Some(3) => Some(Severity::Medium),
        Some(4) => Some(Severity::High),
        Some(5 | 6) => Some(Severity::Critical),
        _ => severity_from_product(product, &node.at("severity").text()?),
    }
}

/// Reads the state. For findings, `status_id` 3 means suppressed, 4 resolved, 5 archived and 6 deleted. For incidents,
/// 3 means on hold, which stays open, and 5 closed. Activity 3 closes a finding. The older Security Finding (class
/// 2001) has this in `state_id`, and its status is an outcome: <https://schema.ocsf.io/1.0.0/classes/security_finding>.
/// The status of an event of another category is not a state.
fn state(draft: &mut Draft, node: Node<'_>) {
    // GuardDuty writes its own titles. Titles of other products quote mail subjects and file names.
    let titled = draft.product == "guardduty" && draft.title.starts_with("[SAMPLE]");
    draft.state.sample =
        titled || node.path("unmapped/sample").is_true() || node.at("sample").is_true();
    if !class::is_finding(node) {
        return;
    }
    let incident = class::is_incident(node);
    let (id, word) = match class::class_uid(node) {
        Some(2001) => ("state_id", "state"),
        _ => ("status_id", "status"),
    };
    let status = node.at(id).count();
    let word = node.at(word);
    draft.state.suppressed = (status == Some(3) && !incident)
        || word.is("Suppressed")
        || node.path("unmapped/muted").is_true();
    draft.state.resolved = status == Some(4)
        || (status == Some(5) && incident)
        || ["Resolved", "Closed"].iter().any(|one| word.is(one))
        || EnumValue::new(node, "activity_name", "activity_id").is_value(3, "Close");
    draft.state.archived = (matches!(status, Some(5 | 6)) && !incident)
        || ["Archived", "Deleted"].iter().any(|one| word.is(one));
    draft.state.passed = draft.class != FindingClass::Threat && is_passed(node);
    let results = ["compliance/status", "compliance/status_code", "status_code"];
    let mut results = results.iter().map(|path| node.path(path));
    let undecided = |at: &Node<'_>| UNDECIDED.iter().any(|word| at.is(word));
    if draft.class == FindingClass::Threat {
        return;
    }
    if let Some(result) = results.find(undecided) {
        draft.add_detail(DetailKind::CheckResult, result);
    } else if class::class_uid(node) == Some(2003) && !draft.state.passed && !has_result(node) {
        draft.add_detail_text(DetailKind::CheckResult, NO_RESULT, None);
    }
}

/// Result of a check whose finding has none.
const NO_RESULT: &str = "no result was sent";

/// Results of checks that neither passed nor failed.
const UNDECIDED: [&str; 4] = ["Warning", "Manual", "Not_Available", "Not_Applicable"];

/// Results of checks that passed.
const PASSED: [&str; 3] = ["Pass", "Passed", "Compliant"];

/// Returns whether a check passed: by the compliance object's result, else by the results of its checks, else by the
/// status of the finding.
fn is_passed(node: Node<'_>) -> bool {
    let compliance = node.at("compliance");
    let mut checks = compliance
        .at("checks")
        .items()
        .filter_map(result_of_check)
        .peekable();
    result_of_check(compliance)
        .or_else(|| checks.peek().is_some().then(|| checks.all(|passed| passed)))
        .unwrap_or_else(|| is_pass(node.at("status_code")) || is_pass(node.at("status")))
}

/// Returns whether a compliance object or one of its checks passed, or `None` without a result.
fn result_of_check(check: Node<'_>) -> Option<bool> {
    let id = check
        .at("status_id")
        .count()
        .filter(|id| !matches!(id, 0 | 99));
    let results = [check.at("status"), check.at("status_code")];
    let has_word = results.iter().any(|at| at.exists());
    let by_word = || has_word.then(|| results.into_iter().any(is_pass));
    id.map(|id| id == 1).or_else(by_word)
}

fn is_pass(result: Node<'_>) -> bool {
    PASSED.iter().any(|word| result.is(word))
}

/// Returns whether a finding has any result of a check.
fn has_result(node: Node<'_>) -> bool {
    let checks = node.path("compliance/checks").items();
    let mut checked = checks.chain([node.at("compliance")]);
    checked.any(|check| result_of_check(check).is_some())
        || node.at("status_code").exists()
        || class::is_result(node.at("status"))
}

/// Returns the outcome: by the security product's disposition, else by the response of the API call, else by the
/// status of the event. The status of a finding is that of its triage.
fn outcome(draft: &Draft, node: Node<'_>) -> Option<Outcome> {
    let disposition = EnumValue::new(node, "disposition", "disposition_id");
    let action = EnumValue::new(node, "action", "action_id");
    let mut known = DISPOSITIONS.iter();
    let stopped = known.find(|(id, caption, _)| disposition.is_value(*id, caption));
    let is_event = !class::is_finding(node);
    let status = EnumValue::new(node, "status", "status_id");
    let allowed = disposition.is_value(1, "Allowed") || action.is_value(1, "Allowed");
    stopped
        .map(|(.., outcome)| *outcome)
        .or_else(|| action.is_value(2, "Denied").then_some(Outcome::Denied))
        .or_else(|| calls_outcome(node).filter(|_| draft.product != "guardduty"))
        .or_else(|| (is_event && status.is_value(2, "Failure")).then(|| failure(node)))
        .or_else(|| allowed.then_some(Outcome::Succeeded))
        .or_else(|| (is_event && status.is_value(1, "Success")).then_some(Outcome::Succeeded))
}

/// Returns the outcome of an event that failed, by its reasons.
fn failure(node: Node<'_>) -> Outcome {
    let reasons = ["status_code", "status_detail"].map(|key| node.at(key).text());
    let mut outcomes = reasons
        .iter()
        .flatten()
        .filter_map(|reason| Outcome::from_error_code(reason));
    outcomes
        .find(|outcome| *outcome == Outcome::Denied)
        .unwrap_or(Outcome::Failed)
}

/// Returns the outcome of an API call that failed, by its error or its HTTP status. A message alone may say that
/// access was denied.
pub(super) fn response_outcome(api: Node<'_>) -> Option<Outcome> {
    let told = |path: &str| {
        let mut texts = descendants(api, path).into_iter().filter_map(Node::text);
        texts.find_map(|text| Outcome::from_error_code(&text))
    };
    let failures = [
        told("response/error"),
        told("response/code").filter(|outcome| outcome.is_without_effect()),
        told("response/error_message").filter(|outcome| *outcome == Outcome::Denied),
        told("response/message").filter(|outcome| *outcome == Outcome::Denied),
    ];
    let mut all = failures.into_iter().flatten();
    let first = all.next()?;
    Some(if all.any(|outcome| outcome == Outcome::Denied) {
        Outcome::Denied
    } else {
        first
    })
}

/// Returns the outcome of API calls, if all of them failed.
fn calls_outcome(node: Node<'_>) -> Option<Outcome> {
    let calls: Vec<Node<'_>> = evidence::evidences(node)
        .map(|one| one.at("api"))
        .filter(|api| api.at("operation").exists())
        .collect();
    let failures: Option<Vec<Outcome>> = calls.iter().copied().map(response_outcome).collect();
    match failures {
        None => None,
        Some(all) if all.iter().all(|one| *one == Outcome::Denied) => all.first().copied(),
        Some(_) => Some(Outcome::Failed),
    }
}
