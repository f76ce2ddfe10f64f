//! Computes the scope of a suppression rule: the values that it must name to hide no more than the clearing record
//! covers.
//!
//! A rule for the type and the resource alone would hide the same attack from any other address.

use nightshift_alert::{Alert, IndicatorKind, IndicatorRole};

use crate::exoneration::Exoneration;

/// Maximum number of values that a rule names.
const MAX_VALUES: usize = 6;

/// Returns the main resource and the subjects of the records. When none of these is a network address or name, the
/// alert's actors and far ends of that kind are added. Returns `None` when nothing is known.
pub(super) fn rule_scope(alert: &Alert, cleared: &[Exoneration]) -> Option<String> {
    let resource = alert.resources.first();
    let shown = resource.map(|one| one.name.as_ref().unwrap_or(&one.id).as_str());
    let is_resource =
        |value: &str| resource.is_some_and(|one| one.id == value || shown == Some(value));
    let subjects = cleared.iter().map(|one| one.subject.as_str());
    let is_in_network = |kind| {
        matches!(
            kind,
            IndicatorKind::Ip | IndicatorKind::Domain | IndicatorKind::Url
        )
    };
    let is_told = cleared.iter().any(|one| is_in_network(one.subject_type));
    let ends = alert.indicators.iter().filter(|one| {
        !is_told
            && is_in_network(one.kind)
            && matches!(one.role, IndicatorRole::Actor | IndicatorRole::Remote)
    });
    let mut values: Vec<&str> = shown.into_iter().collect();
    for value in subjects.chain(ends.map(|one| one.value.as_str())) {
        if !is_resource(value) && !values.contains(&value) {
            values.push(value);
        }
    }
    values.truncate(MAX_VALUES);
    (!values.is_empty()).then(|| values.join(", "))
}

#[cfg(test)]
mod tests {
    use nightshift_alert::Indicator;

    use super::*;
    use crate::fixture;

    fn record(subject_type: IndicatorKind, subject: &str) -> Exoneration {
        Exoneration {
            kind: "asset".into(),
            subject_type,
            subject: subject.into(),
            from: None,
            until: None,
            covers: vec!["*".into()],
            approved_by: "m.lopez".into(),
            reference: "R-7".into(),
            statement: "it is allowed".into(),
            detection_wrong: false,
            scope: crate::exoneration::RecordScope::default(),
            slack_mins: 0,
            extent: crate::exoneration::RecordExtent::default(),
            evidence: None,
        }
    }

    #[test]
    fn suggested_rule_names_what_cleared_the_alert_and_its_origin() {
        let mut alert = fixture::alert();
        let who = Indicator::new(IndicatorKind::Principal, "deployer", IndicatorRole::Actor);
        alert.indicators.push(who);
        let ip = record(IndicatorKind::Ip, "198.51.100.7");
        let deployer = record(IndicatorKind::Principal, "deployer");
        let host = record(IndicatorKind::Instance, "i-1");
        let of = |cleared: &[Exoneration]| rule_scope(&alert, cleared).unwrap();
        insta::assert_snapshot!(of(std::slice::from_ref(&ip)), @"web-1, 198.51.100.7");
        insta::assert_snapshot!(of(&[deployer.clone(), ip.clone()]), @"web-1, deployer, 198.51.100.7");
        insta::assert_snapshot!(of(&[deployer]), @"web-1, deployer, 198.51.100.7");
        insta::assert_snapshot!(of(&[host, ip]), @"web-1, 198.51.100.7");
    }
}
