//! Builds the facts: at most ten short fields that are known.

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_pipeline::report::Report;

use super::{Block, Part, Reader, Section};
use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of techniques that are listed.
const MOST_TECHNIQUES: usize = 4;
/// The maximum number of characters of a line of details.
const MOST_DETAIL: usize = 600;

pub(super) fn section(report: &Report, reader: Reader) -> Section {
    let language = reader.language;
    let alert = &report.alert;
    let named = |value: &Option<String>| value.as_deref().map(Line::from_name);
    let principal = value(
        report,
        language,
        &[
            IndicatorRole::Actor,
            IndicatorRole::Target,
            IndicatorRole::Related,
        ],
        &[IndicatorKind::Principal],
    );
    let fields = [
        (language.pick("Account", "アカウント"), account(report)),
        (language.pick("Owner", "所有者"), named(&report.reach.owner)),
        (language.pick("Region", "リージョン"), named(&alert.region)),
        (language.pick("Resource", "リソース"), resource(report)),
        (language.pick("Principal", "実行主体"), principal),
        source(report, language),
        (
            language.pick("Type", "種別"),
            Some(Line::from_name(&alert.kind)),
        ),
        (language.pick("Seen", "観測"), seen(report, language)),
        (
            language.pick("Action", "操作"),
            named(&alert.action).filter(|_| reader.is_page),
        ),
        (
            language.pick("Feed", "フィード"),
            reader.is_page.then(|| Line::from_name(&alert.feed)),
        ),
        (
            language.pick("Techniques", "攻撃手法"),
            techniques(report, reader),
        ),
        (
            language.pick("Severity", "重要度"),
            Some(severity(report, language)),
        ),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(label, line)| Some((label, line.filter(|line| !line.is_empty())?)))
        .collect();
    Section {
        part: Part::Facts,
        title: language.pick("Facts", "概要"),
        heading: language.pick("Facts", "概要"),
        blocks: vec![Block::Facts(fields)],
    }
}

/// Returns the section of further typed fields of the alert.
pub(super) fn details(report: &Report, language: Language) -> Option<Section> {
    let lines = report.alert.detail_lines(language).into_iter();
    let facts: Vec<_> = lines
        .map(|one| (one.label, Line::default().foreign(&one.text, MOST_DETAIL)))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    (!facts.is_empty()).then(|| Section {
        part: Part::Details,
        title: language.pick("Details", "詳細"),
        heading: language.pick("Details of the alert", "アラートの詳細"),
        blocks: vec![Block::Facts(facts)],
    })
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

/// Returns the actor's address, or else the far end.
fn source(report: &Report, language: Language) -> (&'static str, Option<Line>) {
    match value(
        report,
        language,
        &[IndicatorRole::Actor],
        &[IndicatorKind::Ip],
    ) {
        Some(line) => (language.pick("Source IP", "送信元 IP"), Some(line)),
        None => (
            language.pick("Far end", "通信相手"),
            value(
                report,
                language,
                &[IndicatorRole::Remote],
                &[IndicatorKind::Domain, IndicatorKind::Ip],
            ),
        ),
    }
}

/// Returns the first value with these roles and kinds, and the number of further ones.
fn value(
    report: &Report,
    language: Language,
    roles: &[IndicatorRole],
    kinds: &[IndicatorKind],
) -> Option<Line> {
    let of_role = |role: &IndicatorRole| -> Vec<&Indicator> {
        report
            .indicators
            .iter()
            .filter(|one| one.role == *role && kinds.contains(&one.kind))
            .collect()
    };
    let found = roles.iter().map(of_role).find(|found| !found.is_empty())?;
    let line = Line::default().value(found.first()?);
    Some(line.and_more(language, 1, found.len()))
}

/// Returns when the events were seen and how often. An alert without times has at least its counts, if there is
/// more than one event.
fn seen(report: &Report, language: Language) -> Option<Line> {
    let alert = &report.alert;
    let when = match (alert.first_seen, alert.last_seen) {
        (Some(first), Some(last)) if first != last => {
            Line::default().made(words::window(language, first, last))
        }
        (Some(at), _) | (None, Some(at)) => Line::default().at(at),
        (None, None) => Line::default(),
    };
    let times = match (when.is_empty(), alert.count) {
        (true, 0 | 1) => Line::default(),
        (_, count) => Line::default().count(language, count, ["time", "times", "回"]),
    };
    let sightings = match alert.sightings {
        0 => Line::default(),
        count => Line::default().count(language, count, ["repeat", "repeats", "件の再着信"]),
    };
    let members = match alert.members {
        0 => Line::default(),
        count => Line::from_static(language.pick("stands for ", "代表 ")).count(
            language,
            count,
            [
                "other of its storm",
                "others of its storm",
                "件の同時多発アラート",
            ],
        ),
    };
    let events = joined([when, times], language.pick(", ", "、"));
    let line = joined([events, sightings, members], "; ");
    (!line.is_empty()).then_some(line)
}

fn techniques(report: &Report, reader: Reader) -> Option<Line> {
    let most = reader.most(MOST_TECHNIQUES);
    let named = report.techniques.iter().take(most).map(|one| {
        let id = Line::default().foreign(&one.id, 12);
        match &one.name {
            Some(name) => id.say(" ").foreign(name, 60),
            None => id,
        }
    });
    let line = joined(named, ", ");
    (!line.is_empty()).then(|| line.and_more(reader.language, most, report.techniques.len()))
}

fn severity(report: &Report, language: Language) -> Line {
    let made = words::severity(language, report.severity, report.assessed_severity);
    let line = Line::default().made(made);
    let sent = report.alert.severity_sent.as_str();
    if sent.is_empty() || sent.eq_ignore_ascii_case(report.severity.as_str()) {
        line
    } else {
        line.say(language.pick(", sent as ", "、送信時 "))
            .foreign(sent, 30)
    }
}
