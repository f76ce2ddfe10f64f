//! Selects details of an alert that an action takes. In a command a detail is used only where the alert has exactly one
//! value in the expected form.

use nightshift_alert::{Alert, CloudProvider, DetailKind, IndicatorKind, IndicatorRole};

/// Kinds of indicators that name what an alert is about, best first.
const TARGETS: [IndicatorKind; 8] = [
    IndicatorKind::Instance,
    IndicatorKind::Container,
    IndicatorKind::Function,
    IndicatorKind::Database,
    IndicatorKind::Bucket,
    IndicatorKind::Cluster,
    IndicatorKind::Ip,
    IndicatorKind::Domain,
];

/// Returns the first resource by its name, else the target.
pub(super) fn resource(alert: &Alert) -> Option<String> {
    let resource = alert.resources.first();
    let named = resource.map(|resource| resource.name.as_ref().unwrap_or(&resource.id).clone());
    named.or_else(|| {
        let target = |kind| {
            let mut targets = alert.with_role(IndicatorRole::Target);
            targets.find(|one| one.kind == kind)
        };
        let first = TARGETS.into_iter().find_map(target)?;
        Some(first.value.clone())
    })
}

/// Returns a mail by its subject, else by a mailbox that got or sent it.
pub(super) fn mail(alert: &Alert) -> Option<String> {
    let subject = alert.details_of(DetailKind::MailSubject).next();
    let mailbox = || {
        let mut all = alert.indicators.iter();
        all.find(|one| one.kind == IndicatorKind::Email)
    };
    subject
        .map(|subject| format!("\"{subject}\""))
        .or_else(|| Some(format!("of {}", mailbox()?.value)))
}

/// Returns the application that the alert names first.
pub(super) fn application(alert: &Alert) -> Option<String> {
    let first = alert.details_of(DetailKind::Application).next()?;
    Some(first.to_owned())
}

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
