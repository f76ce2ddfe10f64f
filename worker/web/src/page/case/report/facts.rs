//! Short facts: of the alert, and of the report itself.

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::AnalystKind;
use nightshift_pipeline::{Language, Report};
use serde::Serialize;

use crate::shown::{Shown, took};

#[derive(Debug, Serialize)]
pub(super) struct Fact {
    name: &'static str,
    value: Shown,
}

/// A fact, where there is one.
pub(super) fn fact(name: &'static str, value: Option<Shown>) -> Option<Fact> {
    let value = value.filter(|value| !value.is_empty())?;
    Some(Fact { name, value })
}

/// What the alert is about, and how severe it is.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    let mut facts = of_alert(report);
    facts.extend(fact("Severity", Some(severity(report))));
    facts
}

/// What the alert is about.
pub(super) fn of_alert(report: &Report) -> Vec<Fact> {
    let alert = &report.alert;
    let account = alert.account.as_ref().map(|id| match &alert.account_name {
        Some(name) if name != id => {
            Shown::made(format_args!("{} ({})", Shown::name(id), Shown::name(name)))
        }
        _ => Shown::name(id),
    });
    let resource = alert
        .subject
        .as_ref()
        .map(|subject| match &alert.resource_type {
            Some(kind) => Shown::made(format_args!(
                "{} ({})",
                Shown::name(subject),
                Shown::name(kind)
            )),
            None => Shown::name(subject),
        });
    let time = |at: Option<DateTime<Utc>>| {
        at.map(|at| Shown::made(format_args!("{}", at.format("%Y-%m-%d %H:%M UTC"))))
    };
    [
        fact("Feed", Some(Shown::name(&alert.feed))),
        fact("Type", Some(Shown::name(&alert.kind))),
        fact("Account", account),
        fact("Region", Shown::option(alert.region.as_ref())),
        fact("Resource", resource),
        fact("Action", Shown::option(alert.action.as_ref())),
        fact("First seen", time(alert.first_seen)),
        fact("Last seen", time(alert.last_seen)),
        fact(
            "Times seen",
            Some(Shown::made(format_args!("{}", alert.count))),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `High → Critical, sent as 8.5`, as far as they differ.
fn severity(report: &Report) -> Shown {
    let title = |severity: Severity| severity.title();
    let change = if report.severity == report.assessed_severity {
        Shown::made(format_args!("{}, unchanged", title(report.severity)))
    } else {
        Shown::made(format_args!(
            "{} → {}",
            title(report.severity),
            title(report.assessed_severity)
        ))
    };
    let sent = report.alert.severity_sent.as_str();
    if sent.is_empty() || sent.eq_ignore_ascii_case(report.severity.as_str()) {
        change
    } else {
        Shown::made(format_args!(
            "{change}, sent as {}",
            Shown::foreign(sent, 30)
        ))
    }
}

/// Who thought, and until when.
fn analyst(report: &Report) -> Shown {
    if report.is_by_rules_alone() {
        let rules = match report.source.as_str() {
            "" => Shown::made(format_args!("playbook analyst")),
            source => Shown::name(source),
        };
        let why = match report.analyst {
            AnalystKind::Playbook => "no model was used",
            AnalystKind::Model => "no model answered",
        };
        Shown::made(format_args!("{rules}, {why}"))
    } else {
        let models: Vec<String> = report
            .models
            .iter()
            .take(4)
            .map(|one| Shown::name(one).to_string())
            .collect();
        let models = models.join(", ");
        match &report.takeover {
            Some(one) => Shown::made(format_args!(
                "model {models} until {}, then the playbook",
                Shown::name(&one.place(Language::En))
            )),
            None => Shown::made(format_args!("model {models}")),
        }
    }
}

/// Who thought, how long, at what cost.
pub(super) fn about(report: &Report) -> Vec<Fact> {
    let cost = &report.cost;
    let spent = if cost.model_calls == 0 {
        Shown::made(format_args!("0 USD, no model calls"))
    } else {
        Shown::made(format_args!(
            "{:.4} USD, {} model calls, {} tokens in ({} of them cached), {} out",
            cost.usd, cost.model_calls, cost.input_tokens, cost.cached_tokens, cost.output_tokens
        ))
    };
    [
        fact(
            "Confidence",
            Some(Shown::made(format_args!("{}", report.confidence.as_str()))),
        ),
        fact("Analyst", Some(analyst(report))),
        fact("Cost", Some(spent)),
        fact("Took", Some(took(report.took_ms))),
        fact(
            "Steps",
            Some(match (report.steps_ran(), report.steps.len()) {
                (ran, all) if ran == all => Shown::made(format_args!("{all}")),
                (ran, all) => Shown::made(format_args!("{ran} of {all} ran")),
            }),
        ),
        fact(
            "Concluded",
            Some(Shown::made(format_args!(
                "{}",
                report.concluded_at.format("%Y-%m-%d %H:%M:%S UTC")
            ))),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
