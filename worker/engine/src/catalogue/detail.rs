//! Details of an alert that a command takes: only where one value is told, and only where it has the form of one.

use nightshift_alert::{Alert, DetailKind, Provider};

/// The security group, or in Google Cloud the firewall rule, that lets the traffic in.
pub(super) fn security_group(alert: &Alert) -> Option<String> {
    let is_group = |value: &str| match alert.provider {
        Provider::Aws => value.starts_with("sg-"),
        _ => true,
    };
    one(alert, DetailKind::SecurityGroup, is_group)
}

/// The port of the resource, or of the far end.
pub(super) fn port(alert: &Alert, kind: DetailKind) -> Option<String> {
    one(alert, kind, |value| {
        value.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// The value of this kind; none where several are told, for a command takes one.
fn one(alert: &Alert, kind: DetailKind, fits: impl Fn(&str) -> bool) -> Option<String> {
    let mut values = alert.details_of(kind).filter(|value| fits(value));
    let first = values.next()?;
    values.all(|value| value == first).then(|| first.to_owned())
}
