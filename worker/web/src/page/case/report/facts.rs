//! Short facts about the alert and the report.

use chrono::{DateTime, Utc};
use nightshift_alert::{Indicator, IndicatorKind, Role, Severity};
use nightshift_engine::event::AnalystKind;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::Report;
use serde::Serialize;

use crate::shown::{Shown, took};

/// Kinds of far ends of a target.
const FAR_END: [IndicatorKind; 2] = [IndicatorKind::Domain, IndicatorKind::Ip];

/// Most characters of a line of details or a title.
const MOST_DETAIL: usize = 600;
/// Most characters of a description or advice of the vendor.
const MOST_WORDS: usize = 8_192;

#[derive(Debug, Serialize)]
pub(super) struct Fact {
    name: &'static str,
    value: Shown,
}

/// Creates a fact if there is a value.
pub(super) fn fact(name: &'static str, value: Option<Shown>) -> Option<Fact> {
    let value = value.filter(|value| !value.is_empty())?;
    Some(Fact { name, value })
}

/// Returns the facts of the alert with its severity.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    let mut facts = of_alert(report);
    facts.extend(fact("Severity", Some(severity(report))));
    facts
}

/// Returns the facts of the alert.
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
    let principal = value(
        report,
        &[Role::Actor, Role::Target, Role::Related],
        &[IndicatorKind::Principal],
    );
    let source = match value(report, &[Role::Actor], &[IndicatorKind::Ip]) {
        Some(from) => fact("Source IP", Some(from)),
        None => fact("Far end", value(report, &[Role::Remote], &FAR_END)),
    };
    let time = |at: Option<DateTime<Utc>>| {
        at.map(|at| Shown::made(format_args!("{}", at.format("%Y-%m-%d %H:%M UTC"))))
    };
    [
        fact("Feed", Some(Shown::name(&alert.feed))),
        fact("Type", Some(Shown::name(&alert.kind))),
        fact("Account", account),
        fact("Owner", Shown::option(report.reach.owner.as_ref())),
        fact("Region", Shown::option(alert.region.as_ref())),
        fact("Resource", resource),
        fact("Principal", principal),
        source,
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

/// Returns further fields of the alert.
pub(super) fn details(report: &Report) -> Vec<Fact> {
    let lines = report.alert.detail_lines(Language::En).into_iter();
    lines
        .filter_map(|one| fact(one.label, Some(Shown::foreign(&one.text, MOST_DETAIL))))
        .collect()
}

/// The product's description and advice, in its own words.
#[derive(Debug, Serialize)]
pub(super) struct VendorWords {
    product: Shown,
    title: Shown,
    description: Option<Shown>,
    remediation: Option<Shown>,
}

impl VendorWords {
    pub(super) fn new(report: &Report) -> Self {
        let alert = &report.alert;
        // Each text is one element, whatever it contains.
        let shown = |texts: Vec<&str>| {
            let text = texts.join(" ");
            (!text.trim().is_empty()).then(|| Shown::foreign(&text, MOST_WORDS))
        };
        Self {
            product: Shown::name(&alert.product),
            title: Shown::foreign(&alert.title, MOST_DETAIL),
            description: shown(alert.description_paragraphs()),
            remediation: shown(alert.remediation_paragraphs()),
        }
    }
}

/// Returns the first value of these kinds, by the order of roles, and the number of further ones.
fn value(report: &Report, roles: &[Role], kinds: &[IndicatorKind]) -> Option<Shown> {
    let of_role = |role: &Role| -> Vec<&Indicator> {
        let all = report.indicators.iter();
        all.filter(|one| one.role == *role && kinds.contains(&one.kind))
            .collect()
    };
    let found = roles.iter().map(of_role).find(|found| !found.is_empty())?;
    let first = Shown::value(found.first()?);
    Some(match found.len() {
        1 => first,
        all => Shown::made(format_args!("{first} and {} more", all - 1)),
    })
}

/// Returns `High → Critical, sent as 8.5`, without parts that do not differ.
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

/// Returns the analyst, and until when it answered.
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

/// Returns facts about the triage: analyst, duration and cost.
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
        fact("Prompts", report.prompts_in_short().map(Shown::name)),
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
