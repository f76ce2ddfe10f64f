//! Makes the keys of tickets, which prevent duplicate reports. One key identifies the case and finds its ticket;
//! another identifies a report and finds its comment. Neither contains anything from an alert.

use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;

use super::case_id;

/// The prefix of every key.
const OURS: &str = "nightshift";

/// Returns the label that finds the ticket of a case: `nightshift-k3f9-x2mq-7d1w`.
pub(super) fn label(report: &Report) -> Result<String, DeliveryError> {
    Ok(format!("{OURS}-{}", case_id(report)?))
}

/// Returns the key of a report's result: `nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical`. Another
/// revision or another result has another key.
pub(super) fn told(report: &Report) -> Result<String, DeliveryError> {
    Ok(format!(
        "{OURS}:{}:{}:{}:{}:{}:{}",
        case_id(report)?,
        report.revision,
        report.status.as_str(),
        report.verdict.as_str(),
        report.leaning.as_str(),
        report.assessed_severity.as_str(),
    ))
}

/// Returns the key of the closing comment: `nightshift:k3f9-x2mq-7d1w:closed`, or `again:1:closed` after one
/// reopening.
pub(super) fn closed(report: &Report, desk: &CaseWorkflow) -> Result<String, DeliveryError> {
    let case = case_id(report)?;
    Ok(match desk.reopenings() {
        0 => format!("{OURS}:{case}:closed"),
        times => format!("{OURS}:{case}:again:{times}:closed"),
    })
}

/// Returns the key of the reopening comment: `nightshift:k3f9-x2mq-7d1w:again:1:open`.
pub(super) fn reopened(report: &Report, times: usize) -> Result<String, DeliveryError> {
    Ok(format!("{OURS}:{}:again:{times}:open", case_id(report)?))
}

#[cfg(test)]
mod tests {
    use nightshift_engine::conclusion::Verdict;
    use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind};

    use super::*;
    use crate::fixture;

    #[test]
    fn different_content_has_different_keys_and_none_contains_other() {
        let mut report = fixture::true_positive();
        let closed = |times| {
            let kinds = (0..times).flat_map(|_| [CaseActionKind::Closed, CaseActionKind::Reopened]);
            let acts = kinds.map(|kind| CaseAction {
                at: fixture::now(),
                by: "guardduty".into(),
                kind,
                note: String::new(),
            });
            closed(
                &fixture::true_positive(),
                &CaseWorkflow::from_actions(acts.collect()),
            )
            .unwrap()
        };
        let mut keys = vec![told(&report).unwrap()];
        keys.extend([0, 1, 11].map(closed));
        keys.extend([1, 11].map(|times| reopened(&report, times).unwrap()));
        report.revision = 11;
        keys.push(told(&report).unwrap());
        report.verdict = Verdict::FalsePositive;
        keys.push(told(&report).unwrap());
        insta::assert_snapshot!(keys.join("\n"), @"
        nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical
        nightshift:k3f9-x2mq-7d1w:closed
        nightshift:k3f9-x2mq-7d1w:again:1:closed
        nightshift:k3f9-x2mq-7d1w:again:11:closed
        nightshift:k3f9-x2mq-7d1w:again:1:open
        nightshift:k3f9-x2mq-7d1w:again:11:open
        nightshift:k3f9-x2mq-7d1w:11:concluded:true_positive:none:critical
        nightshift:k3f9-x2mq-7d1w:11:concluded:false_positive:none:critical
        ");
        for (at, one) in keys.iter().enumerate() {
            let within = keys.iter().filter(|other| other.contains(one.as_str()));
            assert_eq!(within.count(), 1, "{at}: {one}");
        }
        report.case_id = "x\"y".into();
        assert!(label(&report).is_err());
    }
}
