//! The assessment: verdict, why it is that, what cleared it, and which rules overrode the analyst.

use nightshift_alert::Flag;
use nightshift_engine::Exoneration;
use nightshift_pipeline::Report;

use super::{Block, Section};
use crate::line::{Line, joined};
use crate::words;

/// Most records, and most rules.
const MOST: usize = 8;

pub(super) fn section(report: &Report) -> Section {
    let mut blocks = vec![
        Block::Labelled("Verdict", verdict(report)),
        Block::Labelled(
            "Severity",
            Line::default().made(words::severity(report.severity, report.assessed_severity)),
        ),
    ];
    if let Some(why) = &report.failed {
        blocks.push(Block::Labelled("The run failed", Line::from_sentence(why)));
    }
    // Those that cleared it stand under Why.
    if !report.verdict.is_benign() {
        for record in report.exonerations.iter().take(MOST) {
            let begin = Line::of("On record, but not enough to clear it: ");
            blocks.push(Block::Item(begin.then(&self::record(record))));
        }
    }
    for rule in report.overridden.iter().take(MOST) {
        blocks.push(Block::Item(
            Line::of("A rule overrode the analyst (")
                .name(&rule.rule.replace('_', " "))
                .say("): ")
                .sentence(&rule.text),
        ));
    }
    let read = read(&report.alert.flags);
    if !read.is_empty() {
        blocks.push(Block::Labelled("Reading the alert", read));
    }
    Section {
        title: "Assessment",
        heading: "Assessment",
        blocks,
    }
}

fn verdict(report: &Report) -> Line {
    Line::default()
        .made(words::Made(report.verdict_words()))
        .say(", ")
        .say(report.confidence.as_str())
        .say(" confidence: ")
        .say(report.reason.words())
}

/// `… is an authorised scanner (SCAN-7); approved by …; holds from … until … [E4]`.
pub(super) fn record(record: &Exoneration) -> Line {
    let mut line = Line::from_sentence(record.statement.trim_end_matches('.'));
    if !record.statement.contains(&record.reference) {
        line = line
            .say(" (")
            .name(&record.kind.replace('_', " "))
            .say(" ")
            .name(&record.reference)
            .say(")");
    }
    let line = line.say("; approved by ").name(&record.approved_by);
    let line = match (record.from, record.until) {
        (Some(from), Some(until)) => line.say("; holds from ").at(from).say(" until ").at(until),
        (Some(from), None) => line.say("; holds from ").at(from),
        (None, Some(until)) => line.say("; holds until ").at(until),
        (None, None) => line,
    };
    line.cite(record.evidence)
}

/// What was cut, replaced or taken out when the alert was read.
fn read(flags: &[Flag]) -> Line {
    let count = |wanted: fn(&Flag) -> bool| {
        u64::try_from(flags.iter().filter(|flag| wanted(flag)).count()).unwrap_or(u64::MAX)
    };
    let sum = |of: fn(&Flag) -> usize| {
        u64::try_from(flags.iter().map(of).fold(0, usize::saturating_add)).unwrap_or(u64::MAX)
    };
    let said = |number: u64, one: &'static str, more: &'static str| {
        if number == 0 {
            Line::default()
        } else {
            Line::default().count(number, one, more)
        }
    };
    joined(
        [
            said(
                count(|flag| matches!(flag, Flag::Truncated { .. })),
                "field was cut",
                "fields were cut",
            ),
            said(
                count(|flag| matches!(flag, Flag::Replaced { .. } | Flag::DuplicateKey { .. })),
                "field was not valid JSON and was mended",
                "fields were not valid JSON and were mended",
            ),
            said(
                sum(|flag| match flag {
                    Flag::Redacted { count } => *count,
                    _ => 0,
                }),
                "secret was taken out",
                "secrets were taken out",
            ),
            said(
                sum(|flag| match flag {
                    Flag::HiddenText { count } => *count,
                    _ => 0,
                }),
                "hidden character was taken out",
                "hidden characters were taken out",
            ),
            said(
                count(|flag| matches!(flag, Flag::Instructions { .. })),
                "field talks to the analyst",
                "fields talk to the analyst",
            ),
        ],
        "; ",
    )
}
