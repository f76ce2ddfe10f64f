//! The facts: at most ten short fields, only those that are known.

use nightshift_alert::{Indicator, IndicatorKind, Role};
use nightshift_pipeline::Report;

use super::{Block, Section};
use crate::line::{Line, joined};
use crate::words;

/// Most techniques that are named.
const MOST_TECHNIQUES: usize = 4;

pub(super) fn section(report: &Report) -> Section {
    let alert = &report.alert;
    let named = |value: &Option<String>| value.as_deref().map(Line::from_name);
    let fields = [
        ("Account", account(report)),
        ("Owner", named(&report.reach.owner)),
        ("Region", named(&alert.region)),
        ("Resource", resource(report)),
        (
            "Principal",
            value(
                report,
                &[Role::Actor, Role::Target, Role::Related],
                &[IndicatorKind::Principal],
            ),
        ),
        source(report),
        ("Type", Some(Line::from_name(&alert.kind))),
        ("Seen", seen(report)),
        ("Techniques", techniques(report)),
        ("Severity", Some(severity(report))),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(label, line)| Some((label, line.filter(|line| !line.is_empty())?)))
        .collect();
    Section {
        title: "Facts",
        heading: "Facts",
        blocks: vec![Block::Facts(fields)],
    }
}

fn account(report: &Report) -> Option<Line> {
    let id = report.alert.account.as_deref()?;
    let line = Line::from_name(id);
    Some(match report.alert.account_name.as_deref() {
        Some(name) if name != id => line.say(" (").name(name).say(")"),
        _ => line,
    })
}

fn resource(report: &Report) -> Option<Line> {
    let subject = Line::from_name(report.alert.subject.as_deref()?);
    Some(match report.alert.resource_type.as_deref() {
        Some(kind) => subject.say(" (").name(kind).say(")"),
        None => subject,
    })
}

/// Where it came from; else the far end that it talked to.
fn source(report: &Report) -> (&'static str, Option<Line>) {
    match value(report, &[Role::Actor], &[IndicatorKind::Ip]) {
        Some(line) => ("Source IP", Some(line)),
        None => (
            "Far end",
            value(
                report,
                &[Role::Remote],
                &[IndicatorKind::Domain, IndicatorKind::Ip],
            ),
        ),
    }
}

/// The first value of these roles and kinds, and how many more there are.
fn value(report: &Report, roles: &[Role], kinds: &[IndicatorKind]) -> Option<Line> {
    let of_role = |role: &Role| -> Vec<&Indicator> {
        report
            .indicators
            .iter()
            .filter(|one| one.role == *role && kinds.contains(&one.kind))
            .collect()
    };
    let found = roles.iter().map(of_role).find(|found| !found.is_empty())?;
    let line = Line::from_name(&found.first()?.value);
    let more = u64::try_from(found.len().saturating_sub(1)).unwrap_or(u64::MAX);
    Some(if more > 0 {
        line.say(" and ").number(more).say(" more")
    } else {
        line
    })
}

fn seen(report: &Report) -> Option<Line> {
    let alert = &report.alert;
    let times = match (alert.first_seen, alert.last_seen) {
        (Some(first), Some(last)) if first != last => {
            Line::default().made(words::window(first, last))
        }
        (first, last) => Line::default().at(first.or(last)?),
    };
    let mut line = times.say(", ").count(alert.count, "time", "times");
    if alert.sightings > 0 {
        line = line.say("; arrived again ");
        line = line.count(alert.sightings, "time", "times");
    }
    if alert.members > 0 {
        line = line.say("; stands for ");
        line = line.count(alert.members, "other of its storm", "others of its storm");
    }
    Some(line)
}

fn techniques(report: &Report) -> Option<Line> {
    let named = report.techniques.iter().take(MOST_TECHNIQUES).map(|one| {
        let id = Line::default().foreign(&one.id, 12);
        match &one.name {
            Some(name) => id.say(" ").foreign(name, 60),
            None => id,
        }
    });
    let line = joined(named, ", ");
    let more = report.techniques.len().saturating_sub(MOST_TECHNIQUES);
    (!line.is_empty()).then(|| {
        if more > 0 {
            line.say(" and ")
                .number(u64::try_from(more).unwrap_or(u64::MAX))
                .say(" more")
        } else {
            line
        }
    })
}

fn severity(report: &Report) -> Line {
    let line = Line::default().made(words::severity(report.severity, report.assessed_severity));
    let sent = report.alert.severity_sent.as_str();
    if sent.is_empty() || sent.eq_ignore_ascii_case(report.severity.as_str()) {
        line
    } else {
        line.say(", sent as ").foreign(sent, 30)
    }
}
