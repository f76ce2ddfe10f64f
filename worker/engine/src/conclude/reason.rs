//! Chooses the reason in the verdict line, which also distinguishes the kinds of benign verdicts.
//!
//! Reports state the reason as their own, so it follows from the verdict and from records. The analyst's reason counts
//! where no known fact contradicts it.

use crate::conclusion::{Verdict, VerdictReason};
use crate::plan::StepStatus;
use crate::state::CaseState;

/// Returns the analyst's reason where it fits the verdict, else the reason of the verdict.
pub(super) fn choose_reason(
    verdict: Verdict,
    said: VerdictReason,
    state: &CaseState,
) -> VerdictReason {
    let by_a_record = matches!(
        said,
        VerdictReason::AuthorisedActivity | VerdictReason::WrongDetectionLogic
    );
    match verdict {
        Verdict::TruePositive if said == VerdictReason::SuspectedManipulation => said,
        Verdict::TruePositive => VerdictReason::SuspiciousActivity,
        Verdict::BenignTruePositive => VerdictReason::AuthorisedActivity,
        Verdict::FalsePositive if said == VerdictReason::WrongData => said,
        Verdict::FalsePositive => VerdictReason::WrongDetectionLogic,
        Verdict::Inconclusive if !by_a_record => said,
        Verdict::Inconclusive if has_failed_step(state) => VerdictReason::ToolFailure,
        Verdict::Inconclusive => VerdictReason::MissingData,
    }
}

fn has_failed_step(state: &CaseState) -> bool {
    let mut steps = state.steps().iter();
    steps.any(|step| step.status == StepStatus::Failed)
}

#[cfg(test)]
mod tests {
    use nightshift_alert::IndicatorKind;

    use super::*;
    use crate::conclude::{draw_conclusion, fallback};
    use crate::conclusion::{ConclusionDraft, Leaning};
    use crate::exoneration::Exoneration;
    use crate::fixture;

    fn scanner(detection_wrong: bool) -> Exoneration {
        Exoneration {
            kind: "authorised_scanner".to_owned(),
            subject_type: IndicatorKind::Ip,
            subject: "198.51.100.7".to_owned(),
            from: None,
            until: None,
            covers: vec!["*".to_owned()],
            approved_by: "p.novak".to_owned(),
            reference: "PT-1".to_owned(),
            statement: "it is the scanner PT-1".to_owned(),
            detection_wrong,
            scope: crate::exoneration::RecordScope::default(),
            slack_mins: 0,
            extent: crate::exoneration::RecordExtent::default(),
            evidence: None,
        }
    }

    fn conclude_with(records: Vec<Exoneration>, verdict: Verdict, said: VerdictReason) -> String {
        let mut state = fixture::opened_state();
        state.exonerations = records;
        state.draft = Some(ConclusionDraft {
            verdict,
            leaning: Leaning::Benign,
            reason: said,
            ..fallback::fallback_draft(&state)
        });
        let end = draw_conclusion(&state).unwrap();
        let rules: Vec<&str> = end
            .overridden
            .iter()
            .map(|rule| rule.text.as_str())
            .collect();
        format!(
            "{}: {} {}",
            end.verdict.title(),
            end.reason.description(),
            rules.join("; ")
        )
    }

    #[test]
    fn only_a_record_says_that_something_was_allowed() {
        insta::assert_snapshot!(conclude_with(Vec::new(), Verdict::Inconclusive, VerdictReason::AuthorisedActivity), @"Inconclusive: data that would decide is missing ");
        insta::assert_snapshot!(conclude_with(Vec::new(), Verdict::Inconclusive, VerdictReason::WrongDetectionLogic), @"Inconclusive: data that would decide is missing ");
        insta::assert_snapshot!(conclude_with(Vec::new(), Verdict::Inconclusive, VerdictReason::WrongData), @"Inconclusive: the detection saw wrong data ");
        insta::assert_snapshot!(conclude_with(vec![scanner(false)], Verdict::BenignTruePositive, VerdictReason::SuspiciousActivity), @"Benign true positive: a register says that it was allowed ");
    }

    #[test]
    fn only_a_record_says_that_the_detection_is_wrong() {
        insta::assert_snapshot!(conclude_with(vec![scanner(false)], Verdict::FalsePositive, VerdictReason::WrongDetectionLogic), @"Benign true positive: a register says that it was allowed the analyst said false positive; no record that clears it says that the detection is wrong");
        insta::assert_snapshot!(conclude_with(vec![scanner(true)], Verdict::FalsePositive, VerdictReason::AuthorisedActivity), @"False positive: the detection logic does not fit here ");
        insta::assert_snapshot!(conclude_with(vec![scanner(true)], Verdict::BenignTruePositive, VerdictReason::WrongDetectionLogic), @"Benign true positive: a register says that it was allowed ");
    }
}
