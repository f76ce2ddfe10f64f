//! Computes the urgency of a case, which says when a person should act, from verdict and severity.

use nightshift_alert::{Alert, Severity};

use super::verdict_rules::PolicyOutcome;
use crate::conclusion::{Leaning, Urgency, Verdict};

/// Returns when a person should act.
pub(super) fn rate_urgency(ruling: &PolicyOutcome, alert: &Alert, manipulation: bool) -> Urgency {
    if alert.is_sample() || ruling.verdict.is_benign() {
        return Urgency::None;
    }
    let urgency = by_severity(ruling);
    // An attacker who addresses the analyst is active now, at any severity of the alert.
    if manipulation {
        urgency.max(Urgency::ThisShift)
    } else {
        urgency
    }
}

fn by_severity(ruling: &PolicyOutcome) -> Urgency {
    let is_true = ruling.verdict == Verdict::TruePositive;
    match ruling.severity {
        Severity::Critical => Urgency::Now,
        Severity::High if is_true || ruling.leaning == Leaning::Malicious => Urgency::Now,
        Severity::High => Urgency::ThisShift,
        // A leaning alone clears nothing, so nothing waits for it.
        Severity::Medium if !(ruling.cleared && ruling.leaning == Leaning::Benign) => {
            Urgency::ThisShift
        }
        Severity::Medium | Severity::Low => Urgency::NextDay,
        Severity::Informational if is_true => Urgency::NextDay,
        Severity::Informational => Urgency::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::VerdictReason;

    #[test]
    fn a_leaning_that_no_record_bears_lets_nothing_wait() {
        let of = |cleared, leaning| {
            by_severity(&PolicyOutcome {
                verdict: Verdict::Inconclusive,
                leaning,
                reason: VerdictReason::MissingData,
                severity: Severity::Medium,
                would_decide: Vec::new(),
                overridden: Vec::new(),
                cleared,
                hold_reason: None,
            })
        };
        assert_eq!(of(false, Leaning::Benign), Urgency::ThisShift);
        assert_eq!(of(true, Leaning::Benign), Urgency::NextDay);
        assert_eq!(of(true, Leaning::None), Urgency::ThisShift);
    }
}
