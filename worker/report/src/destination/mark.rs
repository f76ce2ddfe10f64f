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

/// `nightshift:k3f9-x2mq-7d1w:closed`: that people are done with it; with `reopened:1:closed`, once more.
pub(super) fn closed(report: &Report, desk: &Desk) -> Result<String, DeliveryError> {
    let case = case_id(report)?;
    Ok(match desk.reopenings() {
        0 => format!("{OURS}:{case}:closed"),
        times => format!("{OURS}:{case}:reopened:{times}:closed"),
    })
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
        let reopened = |times| {
            let mut desk = Desk::default();
            let act = Act {
                at: fixture::now(),
                by: "guardduty".into(),
                kind: ActKind::Reopened,
                note: String::new(),
            };
            desk.acts = vec![act; times];
            closed(&fixture::true_positive(), &desk).unwrap()
        };
        let mut keys = vec![told(&report).unwrap()];
        keys.extend([0, 1, 11].map(reopened));
        report.revision = 11;
        keys.push(told(&report).unwrap());
        report.verdict = Verdict::FalsePositive;
        keys.push(told(&report).unwrap());
        insta::assert_snapshot!(keys.join("\n"), @"
        nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical
        nightshift:k3f9-x2mq-7d1w:closed
        nightshift:k3f9-x2mq-7d1w:reopened:1:closed
        nightshift:k3f9-x2mq-7d1w:reopened:11:closed
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
