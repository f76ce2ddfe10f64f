//! Renders the changes since the previous report, and why the case was triaged again.

use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::{Report, RevisionCause, revision_causes};

use crate::safe_text::SafeText;

/// The maximum number of reasons that are listed.
const MOST_REASONS: usize = 5;

/// Returns the changes, or `None` for the first report of a case: `Changed since revision 1: severity High →
/// Critical; triaged again because: severity rose as sent, new actor 203.0.113[.]99`.
pub(super) fn changed(report: &Report) -> Option<SafeText> {
    let again = report.again.as_deref()?;
    let revision = again.revision;
    let changes: Vec<String> = report
        .changes_since(again.into(), Language::En)
        .into_iter()
        .map(|one| format!("{} {} → {}", one.what, one.from, one.to))
        .collect();
    let mut said = match changes.is_empty() {
        false => format!("Changed since revision {revision}: {}", changes.join("; ")),
        true => {
            format!("Since revision {revision} verdict, severity and urgency stay as they were")
        }
    };
    let reasons: Vec<String> = revision_causes(again, Language::En)
        .iter()
        .take(MOST_REASONS)
        .map(|RevisionCause { words, who }| match who {
            Some(who) => format!("{words} {}", SafeText::value(who)),
            None => (*words).to_owned(),
        })
        .collect();
    if !reasons.is_empty() {
        said = format!("{said}; triaged again because: {}", reasons.join(", "));
    }
    Some(SafeText::from_own(format_args!("{said}")))
}
