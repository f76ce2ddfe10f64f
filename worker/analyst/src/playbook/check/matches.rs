//! Checks the names of feeds and classes in `[match]`. With an unknown name the playbook matches nothing.
//!
//! Unknown names are warnings and not errors: a feed may be configured elsewhere, and Security Command Center may
//! have a new class.

use nightshift_alert::feed::BUILT_IN;
use nightshift_alert::{CANARY_FEED, Class};

use super::place::{Report, unknown};
use crate::playbook::form::{Playbook, Text};

/// The feed of alerts about messages that cannot be read.
const OUR_OWN: &str = "nightshift";

/// Finding classes of Security Command Center (API, `Finding.FindingClass`).
const CLASSES: [&str; 9] = [
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
pub(super) fn classes(playbook: &Playbook, report: &mut Report<'_>) {
    let known: Vec<&str> = Class::ALL
        .iter()
        .map(|class| class.as_str())
        .chain(CLASSES)
        .collect();
    each("finding class", &playbook.matches.class, &known, report);
}

/// Checks the feeds. `configured` are those beside the built-in ones.
pub(super) fn feeds(playbook: &Playbook, configured: &[&str], report: &mut Report<'_>) {
    let mut known = configured.to_vec();
    known.extend(BUILT_IN.iter().chain(&[OUR_OWN, CANARY_FEED]));
    each("feed", &playbook.matches.feeds, &known, report);
}

fn each(what: &str, wanted: &[Text], known: &[&str], report: &mut Report<'_>) {
    for text in wanted {
        let name = text.get_ref();
        if !known.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            let message = unknown(what, name, known.iter().copied());
            report.warning(text.span().start, message);
        }
    }
}
