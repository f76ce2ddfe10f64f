//! Defines the fields that a `[[feed]]` can set, and the words for its flags.

use crate::feed::Node;
use crate::{FindingClass, Outcome};

/// The fields that a generic feed can set, each with a description.
pub const FIELDS: &[(&str, &str)] = &[
    ("id", "the finding's id at its product; needed"),
    ("type", "the finding type; needed"),
    ("title", "one line for people"),
    ("description", "more lines"),
    (
        "severity",
        "a word, or a number on the scale that the feed's `severity` or its product tells",
    ),
    ("provider", "aws, gcp or azure"),
    ("account", "account or project id"),
    ("account_name", "the account's name"),
    ("region", "region or zone"),
    ("action", "what was done"),
    ("time", "when it happened"),
    ("first_seen", "first event"),
    ("last_seen", "last event"),
    ("created", "when the finding was made"),
    ("updated", "when it was last changed"),
    ("count", "how often it was seen"),
    ("archived", "true, yes, 1 or archived: it is archived there"),
    (
        "resolved",
        "true, yes, 1, resolved, resolve, closed, fixed, remediated, recovered, cleared, normal, done or ok: it is over there",
    ),
    (
        "suppressed",
        "true, yes, 1, suppressed, muted, silenced, snoozed, inhibited, ignored, dismissed, waived, exempt, exempted or risk_accepted: nobody wants it there",
    ),
    (
        "passed",
        "true, yes, 1, passed, pass, passing, compliant, healthy or ok: a check that passed",
    ),
    (
        "sample",
        "true, yes, 1, sample, simulated or simulation: it is a generated sample",
    ),
    ("resource", "id of the main resource"),
    ("resource_name", "its name"),
    ("resource_type", "its type"),
    ("actor_ip", "address that acted"),
    ("principal", "who acted"),
    ("access_key", "id of the access key that was used"),
    ("target", "what it was done to (an instance)"),
    ("target_ip", "address of what it was done to"),
    ("target_user", "who it was done to"),
    ("remote_ip", "address of the far end"),
    ("domain", "name of the far end"),
    ("url", "URL of the far end"),
    ("ip", "an address named, of which nothing tells what it did"),
    ("user", "a user named, who need not have acted"),
    ("email", "an email address named"),
    ("hash", "a digest named"),
    ("process", "a process named"),
    ("file", "a file named"),
    ("image", "a container image named"),
    ("container", "a container it was done to"),
    ("cluster", "a cluster it was done to"),
    ("bucket", "a bucket it was done to"),
    ("function", "a function it was done to"),
    ("database", "a database it was done to"),
    ("cve", "a vulnerability named"),
    ("wallet", "a wallet named"),
    ("technique", "an ATT&CK technique id"),
    (
        "class",
        "threat, posture, vulnerability, sensitive_data, other, or the product's word for one, such as misconfiguration; without it, the feed's `class`",
    ),
    (
        "outcome",
        "succeeded or success, denied, deny or an error code of refused access such as 403, failed or failure, blocked, block or prevented, not_attempted; without it, `error_code` tells",
    ),
    ("remediation", "what the product advises"),
];

/// Words that set any flag.
const SET: [&str; 3] = ["true", "yes", "1"];

/// Words that set one flag, in lower case. Other words set nothing: `firing`, `open`, `new`, `false`.
const FLAGS: &[(&str, &[&str])] = &[
    ("archived", &["archived"]),
    (
        "resolved",
        &[
            "resolved",
            "resolve",
            "closed",
            "fixed",
            "remediated",
            "recovered",
            "cleared",
            "normal",
            "done",
            "ok",
        ],
    ),
    (
        "suppressed",
        &[
            "suppressed",
            "muted",
            "silenced",
            "snoozed",
            "inhibited",
            "ignored",
            "dismissed",
            "waived",
            "exempt",
            "exempted",
            "risk_accepted",
        ],
    ),
    (
        "passed",
        &["passed", "pass", "passing", "compliant", "healthy", "ok"],
    ),
    ("sample", &["sample", "simulated", "simulation"]),
];

/// Words for outcomes in addition to the names of [`Outcome`].
const OUTCOMES: &[(&str, Outcome)] = &[
    ("success", Outcome::Succeeded),
    ("deny", Outcome::Denied),
    ("failure", Outcome::Failed),
    ("block", Outcome::Blocked),
    ("prevented", Outcome::Blocked),
];

/// Returns the outcome: that of the word, else that of the error codes, where each of the operations has one. A failure
/// whose error code tells of refused access was denied.
pub(super) fn outcome(word: Option<&str>, errors: &[String], operations: usize) -> Option<Outcome> {
    let failures: Vec<Outcome> = errors
        .iter()
        .filter_map(|code| Outcome::from_error_code(code))
        .filter(|outcome| outcome.is_without_effect())
        .collect();
    let are_denied = !failures.is_empty() && failures.iter().all(|one| *one == Outcome::Denied);
    match word.map(outcome_of_word) {
        Some(Some(Outcome::Failed)) if are_denied => Some(Outcome::Denied),
        Some(told) => told,
        None if failures.len() < operations.max(1) => None,
        None if are_denied => Some(Outcome::Denied),
        None => Some(Outcome::Failed),
    }
}

/// Returns the outcome of a word, in any case.
fn outcome_of_word(word: &str) -> Option<Outcome> {
    let mut words = OUTCOMES.iter();
    let other = words.find(|(known, _)| known.eq_ignore_ascii_case(word.trim()));
    let denied = || Outcome::from_error_code(word).filter(|told| *told == Outcome::Denied);
    Outcome::parse(word)
        .or(other.map(|(_, outcome)| *outcome))
        .or_else(denied)
}

/// Results of checks that failed, beside those of the flag `passed`.
const FAILED: [&str; 4] = ["failed", "fail", "non_compliant", "noncompliant"];

/// Returns whether a check passed or failed, so that its result is no detail.
pub(super) fn is_decided(result: Node<'_>) -> bool {
    is_set("passed", result) || FAILED.iter().any(|word| result.is(word))
}

/// Words of products for classes, in lower case and without other characters than letters, beside the names of
/// [`FindingClass`].
const CLASSES: &[(&str, FindingClass)] = &[
    ("toxiccombination", FindingClass::Threat),
    ("malware", FindingClass::Threat),
    ("misconfiguration", FindingClass::Posture),
    ("misconfigurations", FindingClass::Posture),
    ("misconfig", FindingClass::Posture),
    ("configuration", FindingClass::Posture),
    ("cloudconfiguration", FindingClass::Posture),
    ("compliance", FindingClass::Posture),
    ("posturemanagement", FindingClass::Posture),
    ("vulnerabilities", FindingClass::Vulnerability),
    ("cve", FindingClass::Vulnerability),
    ("sensitivedata", FindingClass::SensitiveData),
    ("dataexposure", FindingClass::SensitiveData),
];

/// Returns the class of a word, in any case.
pub(super) fn class(word: &str) -> Option<FindingClass> {
    let letters = word.chars().filter(char::is_ascii_alphabetic);
    let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    let mut words = CLASSES.iter();
    let other = words.find(|(known, _)| *known == letters);
    FindingClass::parse(word).or(other.map(|(_, class)| *class))
}

/// Returns the word of a state without its number and with `_` between words: `6 - Resolved` is `Resolved`.
fn state_word(text: &str) -> String {
    let numbered = text.split_once(" - ");
    let numbered = numbered.filter(|(number, _)| number.bytes().all(|one| one.is_ascii_digit()));
    let word = numbered.map_or(text, |(_, word)| word);
    word.trim().replace([' ', '-'], "_")
}

/// Returns whether the value sets this flag: a word, or a list of one.
pub(super) fn is_set(flag: &str, node: Node<'_>) -> bool {
    let mut words = node.items().filter_map(Node::text);
    let (Some(word), None) = (words.next(), words.next()) else {
        return false;
    };
    let word = state_word(&word);
    let own = FLAGS.iter().filter(|(name, _)| *name == flag);
    let mut words = own.flat_map(|(_, words)| *words).chain(&SET);
    words.any(|known| known.eq_ignore_ascii_case(&word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::DetailKind;
    use crate::severity::scales::SCALES;

    /// Returns the rows of the table below a heading of the page.
    fn table(heading: &str) -> Vec<&'static str> {
        let page = include_str!("../../../../../docs/findings.md");
        let (_, rest) = page.split_once(&format!("\n{heading}\n")).unwrap();
        let section = rest.split("\n#").next().unwrap();
        section
            .lines()
            .filter(|line| line.starts_with("| `"))
            .collect()
    }

    fn rows<'a>(known: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        known
            .map(|(name, about)| format!("| `{name}` | {} |", about.trim_end_matches('.')))
            .collect()
    }

    #[test]
    fn tables_of_the_documents_are_those_of_the_program() {
        let fields = FIELDS.iter().map(|(name, about)| (*name, *about));
        assert_eq!(table("### Fields"), rows(fields));
        let details = DetailKind::ALL.iter();
        let details = details.map(|kind| (kind.as_str(), kind.about()));
        assert_eq!(table("### Details"), rows(details));
        let scales = SCALES.iter().map(|scale| (scale.name, scale.about));
        assert_eq!(table("### Scales"), rows(scales));
    }

    #[test]
    fn fields_of_flags_tell_their_words() {
        for (flag, words) in FLAGS {
            let (_, about) = FIELDS.iter().find(|(name, _)| name == flag).unwrap();
            let (list, _) = about.split_once(':').unwrap();
            let told: Vec<&str> = list
                .split([',', ' '])
                .filter(|word| !["", "or"].contains(word))
                .collect();
            let known: Vec<&str> = SET.iter().chain(*words).copied().collect();
            assert_eq!(told, known, "{flag}");
        }
    }

    #[test]
    fn words_that_are_no_flag_set_nothing() {
        let set = |flag, value: serde_json::Value| is_set(flag, Node::new(&value));
        for value in [
            json!(true),
            json!("Yes"),
            json!(1),
            json!("RESOLVED"),
            json!("6 - Resolved"),
            json!(["resolved"]),
        ] {
            assert!(set("resolved", value.clone()), "{value}");
        }
        for value in [
            json!(false),
            json!("firing"),
            json!("open"),
            json!(0),
            json!(""),
            json!(null),
            json!("unresolved"),
            json!("6 - Open"),
            json!("not - resolved"),
            json!(["resolved", "open"]),
            json!([]),
        ] {
            assert!(!set("resolved", value.clone()), "{value}");
        }
        assert!(!set("suppressed", json!("resolved")));
        for word in ["Risk accepted", "risk-accepted", "RISK_ACCEPTED"] {
            assert!(set("suppressed", json!(word)), "{word}");
        }
    }
}
