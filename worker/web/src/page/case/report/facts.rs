//! Renders short facts about the alert and the report.

use chrono::{DateTime, Utc};
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole, Severity};
use nightshift_engine::event::AnalystKind;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::Report;
use serde::Serialize;

use crate::safe_text::{SafeText, duration_text};

/// The kinds of far ends of a target.
const FAR_END: [IndicatorKind; 2] = [IndicatorKind::Domain, IndicatorKind::Ip];

/// The maximum number of characters of a line of details or a title.
const MOST_DETAIL: usize = 600;
/// The maximum number of characters of a description or advice of the vendor.
const MOST_WORDS: usize = 8_192;

#[derive(Debug, Serialize)]
pub(super) struct Fact {
    name: &'static str,
    value: SafeText,
}

/// Creates a fact if there is a value.
pub(super) fn fact(name: &'static str, value: Option<SafeText>) -> Option<Fact> {
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
        Some(name) if name != id => SafeText::from_own(format_args!(
            "{} ({})",
            SafeText::name(id),
            SafeText::name(name)
        )),
        _ => SafeText::name(id),
    });
    let resource = alert
        .subject
        .as_ref()
        .map(|subject| match &alert.resource_type {
            Some(kind) => SafeText::from_own(format_args!(
                "{} ({})",
                SafeText::name(subject),
                SafeText::name(kind)
            )),
            None => SafeText::name(subject),
        });
    let principal = value(
        report,
        &[
            IndicatorRole::Actor,
            IndicatorRole::Target,
            IndicatorRole::Related,
        ],
        &[IndicatorKind::Principal],
    );
    let source = match value(report, &[IndicatorRole::Actor], &[IndicatorKind::Ip]) {
        Some(from) => fact("Source IP", Some(from)),
        None => fact("Far end", value(report, &[IndicatorRole::Remote], &FAR_END)),
    };
    let time = |at: Option<DateTime<Utc>>| {
        at.map(|at| SafeText::from_own(format_args!("{}", at.format("%Y-%m-%d %H:%M UTC"))))
    };
    [
        fact("Feed", Some(SafeText::name(&alert.feed))),
        fact("Type", Some(SafeText::name(&alert.kind))),
        fact("Account", account),
        fact(
            "Owner",
            SafeText::optional_name(report.reach.owner.as_ref()),
        ),
        fact("Region", SafeText::optional_name(alert.region.as_ref())),
        fact("Resource", resource),
        fact("Principal", principal),
        source,
        fact("Action", SafeText::optional_name(alert.action.as_ref())),
        fact("First seen", time(alert.first_seen)),
        fact("Last seen", time(alert.last_seen)),
        fact(
            "Times seen",
            Some(SafeText::from_own(format_args!("{}", alert.count))),
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
        .filter_map(|one| {
            fact(
                one.label,
                Some(SafeText::from_foreign(&one.text, MOST_DETAIL)),
            )
        })
        .collect()
}

/// The product's description and advice, in its own words.
#[derive(Debug, Serialize)]
pub(super) struct VendorWords {
    product: SafeText,
    title: SafeText,
    description: Option<SafeText>,
    remediation: Option<SafeText>,
}

impl VendorWords {
    pub(super) fn new(report: &Report) -> Self {
        let alert = &report.alert;
        // Each text is one element, whatever it contains.
        let shown = |texts: Vec<&str>| {
            let text = texts.join(" ");
            (!text.trim().is_empty()).then(|| SafeText::from_foreign(&text, MOST_WORDS))
        };
        Self {
            product: SafeText::name(&alert.product),
            title: SafeText::from_foreign(&alert.title, MOST_DETAIL),
            description: shown(alert.description_paragraphs()),
            remediation: shown(alert.remediation_paragraphs()),
        }
    }
}

/// Returns the first value of these kinds, by the order of roles, and the number of further ones.
fn value(report: &Report, roles: &[IndicatorRole], kinds: &[IndicatorKind]) -> Option<SafeText> {
    let of_role = |role: &IndicatorRole| -> Vec<&Indicator> {
        let all = report.indicators.iter();
        all.filter(|one| one.role == *role && kinds.contains(&one.kind))
            .collect()
    };
    let found = roles.iter().map(of_role).find(|found| !found.is_empty())?;
    let first = SafeText::value(found.first()?);
    Some(match found.len() {
        1 => first,
        all => SafeText::from_own(format_args!("{first} and {} more", all - 1)),
    })
}

/// Returns `High → Critical, sent as 8.5`, without parts that do not differ.
fn severity(report: &Report) -> SafeText {
    let title = |severity: Severity| severity.title();
    let change = if report.severity == report.assessed_severity {
        SafeText::from_own(format_args!("{}, unchanged", title(report.severity)))
    } else {
        SafeText::from_own(format_args!(
            "{} → {}",
            title(report.severity),
            title(report.assessed_severity)
        ))
    };
    let sent = report.alert.severity_sent.as_str();
    if sent.is_empty() || sent.eq_ignore_ascii_case(report.severity.as_str()) {
        change
    } else {
        SafeText::from_own(format_args!(
            "{change}, sent as {}",
            SafeText::from_foreign(sent, 30)
        ))
    }
}

/// Returns the analyst, and until when it answered.
fn analyst(report: &Report) -> SafeText {
    if report.is_by_rules_alone() {
        let rules = match report.source.as_str() {
            "" => SafeText::from_own(format_args!("playbook analyst")),
            source => SafeText::name(source),
        };
        let why = match report.analyst {
            AnalystKind::Playbook => "no model was used",
            AnalystKind::Model => "no model answered",
        };
        SafeText::from_own(format_args!("{rules}, {why}"))
    } else {
        let models: Vec<String> = report
            .models
            .iter()
            .take(4)
            .map(|one| SafeText::name(one).to_string())
            .collect();
        let models = models.join(", ");
        match &report.takeover {
            Some(one) => SafeText::from_own(format_args!(
                "model {models} until {}, then the playbook",
                SafeText::name(&one.place(Language::En))
            )),
            None => SafeText::from_own(format_args!("model {models}")),
        }
    }
}

/// Returns facts about the triage: analyst, duration and cost.
pub(super) fn about(report: &Report) -> Vec<Fact> {
    let cost = &report.cost;
    let spent = if cost.model_calls == 0 {
        SafeText::from_own(format_args!("0 USD, no model calls"))
    } else {
        SafeText::from_own(format_args!(
            "{:.4} USD, {} model calls, {} tokens in ({} of them cached), {} out",
            cost.usd, cost.model_calls, cost.input_tokens, cost.cached_tokens, cost.output_tokens
        ))
    };
    [
        fact(
            "Confidence",
            Some(SafeText::from_own(format_args!(
                "{}",
                report.confidence.as_str()
            ))),
        ),
        fact("Analyst", Some(analyst(report))),
        fact("Prompts", report.prompts_in_short().map(SafeText::name)),
        fact("Cost", Some(spent)),
        fact("Took", Some(duration_text(report.took_ms))),
        fact(
            "Steps",
            Some(match (report.steps_ran(), report.steps.len()) {
                (ran, all) if ran == all => SafeText::from_own(format_args!("{all}")),
                (ran, all) => SafeText::from_own(format_args!("{ran} of {all} ran")),
            }),
        ),
        fact(
            "Concluded",
            Some(SafeText::from_own(format_args!(
                "{}",
                report.concluded_at.format("%Y-%m-%d %H:%M:%S UTC")
            ))),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
