//! The keys that tickets carry, so that nothing is told twice: one for the case, by which its ticket is found, and one for
//! what is told, by which a comment is known that was made already. Nothing in them comes from an alert.

use nightshift_pipeline::{DeliveryError, Desk, Report};

use super::case_id;

/// What begins every key.
const OURS: &str = "nightshift";

/// `nightshift-k3f9-x2mq-7d1w`: the label by which the ticket of a case is found.
pub(super) fn label(report: &Report) -> Result<String, DeliveryError> {
    Ok(format!("{OURS}-{}", case_id(report)?))
}

/// `nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical`: what this report says. Another revision, or one
/// that says something else, has another.
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

/// `nightshift:k3f9-x2mq-7d1w:closed`: that people are done with it; with `again:1:closed`, once more.
pub(super) fn closed(report: &Report, desk: &Desk) -> Result<String, DeliveryError> {
    let case = case_id(report)?;
    Ok(match desk.reopenings() {
        0 => format!("{OURS}:{case}:closed"),
        times => format!("{OURS}:{case}:again:{times}:closed"),
    })
}

/// `nightshift:k3f9-x2mq-7d1w:again:1:open`: that it is open again after that.
pub(super) fn reopened(report: &Report, times: usize) -> Result<String, DeliveryError> {
    Ok(format!("{OURS}:{}:again:{times}:open", case_id(report)?))
}

#[cfg(test)]
mod tests {
    use nightshift_engine::Verdict;
    use nightshift_pipeline::{Act, ActKind};

    use super::*;
    use crate::fixture;

    #[test]
    fn what_says_something_else_has_another_key_and_none_is_within_another() {
        let mut report = fixture::true_positive();
        let closed = |times| {
            let kinds = (0..times).flat_map(|_| [ActKind::Closed, ActKind::Reopened]);
            let acts = kinds.map(|kind| Act {
                at: fixture::now(),
                by: "guardduty".into(),
                kind,
                note: String::new(),
            });
            closed(&fixture::true_positive(), &Desk::of(acts.collect())).unwrap()
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
