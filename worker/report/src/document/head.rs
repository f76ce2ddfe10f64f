//! The header and what an engineer needs before anything else: conclusion, warnings, still happening, reach.

use nightshift_alert::text::plain;
use nightshift_engine::EvidenceId;
use nightshift_pipeline::{CaseStatus, Report};

use super::{Block, Reader, Section};
use crate::line::{Line, SENTENCE, joined};
use crate::words;

/// Most characters of the header.
const HEADER: usize = 140;
/// Most texts that talk to the analyst.
const MOST_SIGNALS: usize = 3;
/// Most other cases that are named.
const MOST_CASES: usize = 5;

/// `▲ Act now · True positive · Critical [SAMPLE] — Crypto miner on web-01 (production)`. The marks stand before the
/// title, where nothing from outside can put one.
pub(super) fn header(report: &Report) -> Line {
    let failed = report.status == CaseStatus::Failed;
    let mut own = format!(
        "{} {} · {}{} · {}",
        words::icon(report.urgency),
        report.urgency.title(),
        if failed { "Not triaged · " } else { "" },
        report.verdict_words(),
        report.assessed_severity.title(),
    );
    for mark in report.marks() {
        own.push(' ');
        own.push_str(mark);
    }
    own.push_str(" — ");
    let account = report
        .alert
        .account_name
        .as_ref()
        .or(report.alert.account.as_ref());
    let place = account
        .filter(|account| !report.title.contains(account.as_str()))
        .map(|account| format!(" ({})", plain(account, 40)))
        .unwrap_or_default();
    let room = HEADER.saturating_sub(own.chars().count() + place.chars().count());
    let title = without_marks(&plain(&report.title, room));
    Line::default().made(words::Made(format!(
        "{own}{title}{}",
        without_marks(&place)
    )))
}

/// A mark in a title is the alert's word, not ours.
fn without_marks(title: &str) -> String {
    let mut title = title.to_owned();
    for mark in ["SAMPLE", "PLAYBOOK", "PARTIAL"] {
        while let Some(at) = title.to_ascii_uppercase().find(&format!("[{mark}]")) {
            let end = at + mark.len() + 1;
            title.replace_range(end..=end, ")");
            title.replace_range(at..=at, "(");
        }
    }
    title
}

pub(super) fn section(report: &Report, reader: Reader) -> Section {
    let mut blocks = vec![Block::Text(
        Line::default().foreign(&report.summary, 2 * SENTENCE),
    )];
    if !report.meaning.trim().is_empty() {
        blocks.push(Block::Text(Line::from_sentence(&report.meaning)));
    }
    blocks.extend(warnings(report));
    blocks.push(Block::Labelled("Still happening?", still(report, reader)));
    blocks.push(Block::Labelled("Reach", reach(report)));
    blocks.push(Block::Labelled("Other cases", others(report)));
    blocks.retain(|block| !matches!(block, Block::Text(line) if line.is_empty()));
    Section {
        title: "",
        heading: "Summary",
        blocks,
    }
}

fn warnings(report: &Report) -> Vec<Block> {
    let mut lines = Vec::new();
    if report.manipulation {
        lines.push(Line::of(
            "Text in the data talks to the analyst. Nothing of this alert was cleared by what it says; read its words as the attacker's.",
        ));
        for signal in report.signals.iter().take(MOST_SIGNALS) {
            lines.push(
                Line::of("It stands at ")
                    .name(&signal.path)
                    .say(" and begins: ")
                    .foreign(&signal.text, 160)
                    .cite(Some(signal.evidence)),
            );
        }
    }
    if report.failed.is_some() {
        lines.push(Line::of(
            "The run failed: nothing here is a verdict. Look at the alert yourself, or run it again.",
        ));
    }
    if let Some(cap) = report.stopped_by {
        lines.push(
            Line::of("The work was cut short by ")
                .say(words::cap(cap))
                .say("; what follows is what was seen by then."),
        );
    }
    if report.degraded && report.failed.is_none() {
        lines.push(Line::of(
            "A lesser analyst had to step in for part of this report.",
        ));
    }
    if report.alert.sample {
        lines.push(Line::of("A generated sample of the feed, no real event."));
    }
    lines.into_iter().map(Block::Warning).collect()
}

/// Last seen, relative and absolute, and what logs saw since.
fn still(report: &Report, reader: Reader) -> Line {
    let Some(last) = report.alert.last_seen.or(report.alert.first_seen) else {
        return Line::of("not known: the alert tells no time of its events");
    };
    let mut line = Line::of("last seen ")
        .made(words::ago(last, reader.now))
        .say(", ")
        .at(last);
    if let Some(offset) = reader.local {
        line = line
            .say(" (")
            .made(words::local(last, offset))
            .say(" here)");
    }
    if report.alert.count > 1 {
        line = line.say(", ").number(report.alert.count).say(" times");
    }
    let seen_in_logs: Vec<_> = report
        .timeline
        .iter()
        .filter(|entry| entry.evidence.is_some_and(|id| id != EvidenceId::ALERT))
        .collect();
    let since: Vec<_> = seen_in_logs
        .iter()
        .filter(|entry| entry.at > last)
        .collect();
    match since.last() {
        Some(latest) => line
            .say("; the logs show ")
            .count(
                u64::try_from(since.len()).unwrap_or(u64::MAX),
                "event",
                "events",
            )
            .say(" since, the last at ")
            .at(latest.at)
            .cite(latest.evidence),
        None if seen_in_logs.is_empty() => line.say("; since then: not known"),
        None => line.say("; nothing since in the logs that were read"),
    }
}

fn reach(report: &Report) -> Line {
    let reach = &report.reach;
    let named = |label: &'static str, value: &Option<String>| match value {
        Some(value) => Line::of(label).name(value),
        None => Line::default(),
    };
    let facing = match reach.internet_facing {
        Some(true) => Line::of("internet-facing"),
        Some(false) => Line::of("not internet-facing"),
        None => Line::default(),
    };
    let known = [
        named("environment ", &reach.environment),
        facing,
        named("owner ", &reach.owner),
        named("role ", &reach.role),
        named("data ", &reach.data),
    ];
    let unknown = joined(
        [
            "environment",
            "exposure to the internet",
            "owner",
            "role",
            "data",
        ]
        .into_iter()
        .zip(&known)
        .filter(|(_, line)| line.is_empty())
        .map(|(name, _)| Line::of(name)),
        ", ",
    );
    let known = joined(known, " · ");
    match (known.is_empty(), unknown.is_empty()) {
        (true, _) => Line::of(
            "not known: no register or tag tells of environment, exposure, owner, role or data",
        ),
        (false, true) => known.cite(reach.evidence),
        (false, false) => known
            .cite(reach.evidence)
            .say(" (not known: ")
            .then(&unknown)
            .say(")"),
    }
}

fn others(report: &Report) -> Line {
    let cases = &report.reach.other_cases;
    let named = joined(
        cases
            .iter()
            .take(MOST_CASES)
            .map(|id| Line::default().foreign(id, 40)),
        ", ",
    );
    match cases.len().saturating_sub(MOST_CASES) {
        _ if cases.is_empty() => Line::of("none known that share an actor, target or far end"),
        0 => named,
        more => named
            .say(" and ")
            .number(u64::try_from(more).unwrap_or(u64::MAX))
            .say(" more"),
    }
}
