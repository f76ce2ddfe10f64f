//! Selects details of an alert that a command takes. A detail is used only where the alert has exactly one value in the
//! expected form.

use nightshift_alert::{Alert, CloudProvider, DetailKind};

/// Returns the security group, or in Google Cloud the firewall rule, that lets the traffic in.
pub(super) fn security_group(alert: &Alert) -> Option<String> {
    let is_group = |value: &str| match alert.provider {
        CloudProvider::Aws => value.starts_with("sg-"),
        _ => true,
    };
    only_value(alert, DetailKind::SecurityGroup, is_group)
}

/// Returns the port of the resource or of the far end.
pub(super) fn port(alert: &Alert, kind: DetailKind) -> Option<String> {
    only_value(alert, kind, |value| {
        value.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// Returns the value of this kind, or `None` when there are several, because a command takes one.
fn only_value(alert: &Alert, kind: DetailKind, fits: impl Fn(&str) -> bool) -> Option<String> {
    let mut values = alert.details_of(kind).filter(|value| fits(value));
    let first = values.next()?;
    values.all(|value| value == first).then(|| first.to_owned())
}
