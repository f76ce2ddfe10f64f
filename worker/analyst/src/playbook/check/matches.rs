//! Checks the names of feeds and classes in `[match]`. With an unknown name the playbook matches nothing.
//!
//! Unknown names are warnings and not errors: a feed may be configured elsewhere, and Security Command Center may
//! have a new class.

use nightshift_alert::feed::BUILT_IN;
use nightshift_alert::{CANARY_FEED, FindingClass};

use super::report::{ProblemReport, unknown_name_message};
use crate::playbook::playbook_file::{Playbook, SpannedText};

/// The feed of alerts about messages that cannot be read.
const INTERNAL_FEED: &str = "nightshift";

/// Finding classes of Security Command Center (API, `Finding.FindingClass`).
const SCC_FINDING_CLASSES: [&str; 9] = [
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

/// Checks the classes. They do not depend on the configuration.
pub(super) fn check_classes(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    let known: Vec<&str> = FindingClass::ALL
        .iter()
        .map(|class| class.as_str())
        .chain(SCC_FINDING_CLASSES)
        .collect();
    check_each("finding class", &playbook.matches.class, &known, report);
}

/// Checks the feeds. `configured` are those beside the built-in ones.
pub(super) fn check_feeds(
    playbook: &Playbook,
    configured: &[&str],
    report: &mut ProblemReport<'_>,
) {
    let mut known = configured.to_vec();
    known.extend(BUILT_IN.iter().chain(&[INTERNAL_FEED, CANARY_FEED]));
    check_each("feed", &playbook.matches.feeds, &known, report);
}

fn check_each(what: &str, wanted: &[SpannedText], known: &[&str], report: &mut ProblemReport<'_>) {
    for text in wanted {
        let name = text.get_ref();
        if !known.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            let message = unknown_name_message(what, name, known.iter().copied());
            report.warning(text.span().start, message);
        }
    }
}
