//! Decides which reports open tickets and pages. A ticket costs somebody's time, so only attacks and undecided severe
//! alerts open one. A case that has a ticket is followed in it whatever the result.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::report::Report;

/// The verdicts that open a ticket by default.
const VERDICTS: [Verdict; 2] = [Verdict::TruePositive, Verdict::Inconclusive];

/// The reports that open a ticket. By default these are true positives, and inconclusive ones of high severity or
/// above. Samples, running cases and closed cases never open one; canaries always do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TicketPolicy {
    /// The verdicts that open a ticket.
    pub(crate) verdicts: Option<Vec<Verdict>>,
    /// The least assessed severity that opens a ticket, whatever the verdict.
    pub(crate) severity_at_least: Option<Severity>,
}

impl TicketPolicy {
    /// Returns whether a case without a ticket gets one.
    pub(super) fn opens(&self, showing: &DeliveryPayload) -> bool {
        !showing.is_early()
            && !showing.is_minor
            && !showing.workflow.is_settled()
            && (showing.report.is_canary() || self.is_for(&showing.report))
    }

    /// Returns whether a ticket system needs this delivery: to open a ticket, to comment on it, or to close it.
    pub(super) fn wants(&self, showing: &DeliveryPayload) -> bool {
        match showing.remote_id {
            None => self.opens(showing),
            Some(_) => !showing.is_early() && (!showing.is_minor || showing.workflow.is_settled()),
        }
    }

    fn is_for(&self, report: &Report) -> bool {
        let verdicts = self.verdicts.as_deref().unwrap_or(&VERDICTS);
        let least = match (self.severity_at_least, report.verdict) {
            (Some(least), _) => least,
            (None, Verdict::Inconclusive) => Severity::High,
            (None, _) => Severity::Informational,
        };
        !report.alert.sample
            && verdicts.contains(&report.verdict)
            && report.assessed_severity >= least
    }
}

#[cfg(test)]
mod tests {
    use nightshift_pipeline::case::CaseStatus;
    use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};

    use super::*;
    use crate::fixture;

    fn payload_with(verdict: Verdict, severity: Severity) -> DeliveryPayload {
        let mut report = fixture::true_positive();
        report.verdict = verdict;
        report.assessed_severity = severity;
        DeliveryPayload::new(report)
    }

    fn closed() -> CaseWorkflow {
        CaseWorkflow::from_actions(vec![CaseAction {
            at: fixture::now(),
            by: "maria".into(),
            kind: CaseActionKind::Closed,
            note: String::new(),
        }])
    }

    #[test]
    fn attacks_open_one_and_what_is_undecided_only_from_high_up() {
        let policy = TicketPolicy::default();
        for severity in Severity::ALL {
            assert!(policy.opens(&payload_with(Verdict::TruePositive, severity)));
            let undecided = policy.opens(&payload_with(Verdict::Inconclusive, severity));
            assert_eq!(undecided, severity >= Severity::High);
            for cleared in [Verdict::FalsePositive, Verdict::BenignTruePositive] {
                assert!(!policy.opens(&payload_with(cleared, severity)));
            }
        }
    }

    #[test]
    fn what_is_configured_counts_for_all_verdicts() {
        let policy = TicketPolicy {
            verdicts: Some(vec![Verdict::TruePositive, Verdict::BenignTruePositive]),
            severity_at_least: Some(Severity::Medium),
        };
        assert!(policy.opens(&payload_with(Verdict::BenignTruePositive, Severity::Medium)));
        assert!(!policy.opens(&payload_with(Verdict::TruePositive, Severity::Low)));
        assert!(!policy.opens(&payload_with(Verdict::Inconclusive, Severity::Critical)));
    }

    #[test]
    fn samples_early_reports_and_what_is_done_with_open_none() {
        let policy = TicketPolicy::default();
        let mut sample = payload_with(Verdict::TruePositive, Severity::Critical);
        sample.report.alert.sample = true;
        let mut early = payload_with(Verdict::TruePositive, Severity::Critical);
        early.report.status = CaseStatus::Running;
        let mut done = payload_with(Verdict::TruePositive, Severity::Critical);
        done.workflow = closed();
        let mut minor = payload_with(Verdict::TruePositive, Severity::Critical);
        minor.is_minor = true;
        for showing in [sample, early, done, minor] {
            assert!(!policy.wants(&showing));
        }
    }

    #[test]
    fn a_canary_opens_one_where_it_is_sent() {
        let policy = TicketPolicy::default();
        let mut canary = fixture::canary();
        assert!(policy.wants(&canary));
        fixture::spend(&mut canary, None);
        assert!(!policy.wants(&canary), "it is over and was never there");
        canary.remote_id = Some("SEC-1".into());
        assert!(policy.wants(&canary));
    }

    #[test]
    fn what_has_a_ticket_is_told_in_it_however_it_turns_out() {
        let policy = TicketPolicy::default();
        let mut showing = payload_with(Verdict::BenignTruePositive, Severity::Low);
        showing.remote_id = Some("SEC-1".into());
        assert!(policy.wants(&showing));
        showing.is_minor = true;
        assert!(!policy.wants(&showing), "a count is no news");
        showing.workflow = closed();
        assert!(policy.wants(&showing), "but its end is");
        showing.report.status = CaseStatus::Running;
        assert!(!policy.wants(&showing));
    }
}
