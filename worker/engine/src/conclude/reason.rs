//! The reason in the verdict line, which also tells the kinds of benign apart.
//!
//! Reports state the reason as their own, so it follows from the verdict and from records. The analyst's reason
//! counts where no known fact contradicts it.

use crate::conclusion::{Reason, Verdict};
use crate::plan::StepStatus;
use crate::state::State;

/// Returns the analyst's reason where it fits the verdict, else the reason of the verdict.
pub(super) fn of(verdict: Verdict, said: Reason, state: &State) -> Reason {
    let by_a_record = matches!(
        said,
        Reason::AuthorisedActivity | Reason::WrongDetectionLogic
    );
    match verdict {
        Verdict::TruePositive if said == Reason::SuspectedManipulation => said,
        Verdict::TruePositive => Reason::SuspiciousActivity,
        Verdict::BenignTruePositive => Reason::AuthorisedActivity,
        Verdict::FalsePositive if said == Reason::WrongData => said,
        Verdict::FalsePositive => Reason::WrongDetectionLogic,
        Verdict::Inconclusive if !by_a_record => said,
        Verdict::Inconclusive if has_failed(state) => Reason::ToolFailure,
        Verdict::Inconclusive => Reason::MissingData,
    }
}

fn has_failed(state: &State) -> bool {
    let mut steps = state.steps().iter();
    steps.any(|step| step.status == StepStatus::Failed)
}

#[cfg(test)]
mod tests {
    use nightshift_alert::IndicatorKind;

    use super::*;
    use crate::conclude::{conclusion, plain};
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
            scope: crate::exoneration::Scope::default(),
            slack_mins: 0,
            extent: crate::exoneration::Extent::default(),
            evidence: None,
        }
    }

    fn told(records: Vec<Exoneration>, verdict: Verdict, said: Reason) -> String {
        let mut state = fixture::opened_state();
        state.exonerations = records;
        state.draft = Some(ConclusionDraft {
            verdict,
            leaning: Leaning::Benign,
            reason: said,
            ..plain::draft(&state)
        });
        let end = conclusion(&state).unwrap();
        let rules: Vec<&str> = end
            .overridden
            .iter()
            .map(|rule| rule.text.as_str())
            .collect();
        format!(
            "{}: {} {}",
            end.verdict.title(),
            end.reason.words(),
            rules.join("; ")
        )
    }

    #[test]
    fn only_a_record_says_that_something_was_allowed() {
        insta::assert_snapshot!(told(Vec::new(), Verdict::Inconclusive, Reason::AuthorisedActivity), @"Inconclusive: data that would decide is missing ");
        insta::assert_snapshot!(told(Vec::new(), Verdict::Inconclusive, Reason::WrongDetectionLogic), @"Inconclusive: data that would decide is missing ");
        insta::assert_snapshot!(told(Vec::new(), Verdict::Inconclusive, Reason::WrongData), @"Inconclusive: the detection saw wrong data ");
        insta::assert_snapshot!(told(vec![scanner(false)], Verdict::BenignTruePositive, Reason::SuspiciousActivity), @"Benign true positive: a register says that it was allowed ");
    }

    #[test]
    fn only_a_record_says_that_the_detection_is_wrong() {
        insta::assert_snapshot!(told(vec![scanner(false)], Verdict::FalsePositive, Reason::WrongDetectionLogic), @"Benign true positive: a register says that it was allowed the analyst said false positive; no record that clears it says that the detection is wrong");
        insta::assert_snapshot!(told(vec![scanner(true)], Verdict::FalsePositive, Reason::AuthorisedActivity), @"False positive: the detection logic does not fit here ");
        insta::assert_snapshot!(told(vec![scanner(true)], Verdict::BenignTruePositive, Reason::WrongDetectionLogic), @"Benign true positive: a register says that it was allowed ");
    }
}
