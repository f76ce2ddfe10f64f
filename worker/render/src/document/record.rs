//! Builds the record of the case: timeline, evidence with short excerpts that findings quote, indicators.

use std::cell::LazyCell;

use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::report::{EvidenceEntry, Report};
use serde_json::{Map, Value};

use super::{Block, Part, Reader, Section, more};
use crate::Language;
use crate::line::{Line, joined};

/// The maximum number of lines of the timeline.
const MOST_LINES: usize = 40;
/// The maximum number of pieces of evidence.
const MOST_EVIDENCE: usize = 60;
/// The maximum number of excerpts of one piece of evidence.
const MOST_EXCERPTS: usize = 4;
/// The maximum number of arguments that are shown, and of characters of one.
const MOST_ARGUMENTS: usize = 8;
const ARGUMENT: usize = 80;
/// The maximum number of indicators.
const MOST_INDICATORS: usize = 30;

pub(super) fn timeline(report: &Report, reader: Reader) -> Option<Section> {
    let (language, most) = (reader.language, reader.most(MOST_LINES));
    let lines = report.timeline.iter().take(most).map(|entry| {
        Block::Item(
            Line::default()
                .second(entry.at)
                .say("  ")
                .foreign(&entry.what, 200)
                .cite(entry.evidence),
        )
    });
    let blocks: Vec<Block> = lines
        .chain(more(language, most, report.timeline.len()))
        .chain(left_out(report, language))
        .collect();
    Some(Section {
        part: Part::Timeline,
        title: language.pick("Timeline (UTC)", "時系列 (UTC)"),
        heading: language.pick("Timeline (UTC)", "時系列 (UTC)"),
        blocks,
    })
}

/// Returns a note that the logs had more events than the timeline shows.
fn left_out(report: &Report, language: Language) -> Option<Block> {
    let line = Line::from_static(language.pick("… and ", "… ほか "))
        .count(
            language,
            u64::from(report.timeline_left),
            ["log row", "log rows", "件のログ"],
        )
        .say(language.pick("; the evidence has them", "（証拠にあります）"));
    (report.timeline_left > 0).then_some(Block::Item(line))
}

pub(super) fn evidence(report: &Report, reader: Reader) -> Option<Section> {
    let (language, most) = (reader.language, reader.most(MOST_EVIDENCE));
    let mut blocks = Vec::new();
    for entry in report.evidence.iter().take(most) {
        blocks.push(Block::Evidence(entry.id, asked(entry, reader)));
        // A page has what findings quote below the findings.
        if !reader.is_page {
            blocks.extend(excerpts(report, entry).into_iter().map(Block::Below));
        }
    }
    blocks.extend(more(language, most, report.evidence.len()));
    Some(Section {
        part: Part::Evidence,
        title: language.pick("Evidence", "証拠"),
        heading: language.pick("Evidence", "証拠"),
        blocks,
    })
}

/// Returns a look-up: `E3 cloudtrail (user=…, from=…): 12 rows, cut for its size`.
fn asked(entry: &EvidenceEntry, reader: Reader) -> Line {
    let language = reader.language;
    let line = Line::default()
        .say("E")
        .number(entry.id.0.into())
        .say(" ")
        .foreign(&entry.tool, 60);
    let line = match arguments(&entry.arguments, reader) {
        named if named.is_empty() => line,
        named => line.say(" (").then(&named).say(")"),
    };
    let line = match (&entry.error, entry.rows) {
        (Some(error), _) => line
            .say(language.pick(": NO ANSWER, ", ": 【応答なし】"))
            .foreign(&error.to_string(), 200),
        (None, Some(rows)) => line.say(": ").count(language, rows, ["row", "rows", "行"]),
        (None, None) if entry.id == EvidenceId::ALERT => {
            line.say(language.pick(": as it was read", ": 読み取ったまま"))
        }
        (None, None) => line.say(language.pick(": answered", ": 応答あり")),
    };
    if entry.truncated {
        line.say(language.pick(", cut for its size", "、サイズのため省略あり"))
    } else {
        line
    }
}

/// Returns the arguments of a call: `user=ci-deploy, from=2026-11-20`.
pub(super) fn arguments(arguments: &Map<String, Value>, reader: Reader) -> Line {
    let (most, room) = (reader.most(MOST_ARGUMENTS), reader.most(ARGUMENT));
    let shown = arguments.iter().take(most).map(|(name, value)| {
        Line::default()
            .foreign(name, 40)
            .say("=")
            .foreign(&scalar(value), room)
    });
    joined(shown, ", ").and_more(reader.language, most, arguments.len())
}

/// Returns what findings quote of a piece of evidence: `/rows/0/action: RunInstances`.
fn excerpts(report: &Report, entry: &EvidenceEntry) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let body = LazyCell::new(|| entry.body.value());
    let quotes = report
        .findings
        .iter()
        .flat_map(|finding| &finding.evidence)
        .filter(|quote| quote.id == entry.id);
    for quote in quotes {
        let Some(path) = &quote.path else { continue };
        let value = body
            .pointer(path)
            .filter(|value| !value.is_object() && !value.is_array());
        let text = value.map_or_else(|| quote.quote.clone(), scalar);
        let line = Line::default()
            .foreign(path, 80)
            .say(": ")
            .foreign(&text, 160);
        if !lines.contains(&line) && lines.len() < MOST_EXCERPTS {
            lines.push(line);
        }
    }
    lines
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn indicators(report: &Report, reader: Reader) -> Option<Section> {
    let (language, most) = (reader.language, reader.most(MOST_INDICATORS));
    let lines = report.indicators.iter().take(most).map(|one| {
        Block::Item(
            Line::from_static(one.role.as_str())
                .say(" ")
                .say(one.kind.as_str())
                .say(": ")
                .value(one),
        )
    });
    let blocks: Vec<Block> = lines
        .chain(more(language, most, report.indicators.len()))
        .collect();
    Some(Section {
        part: Part::Indicators,
        title: language.pick("Indicators (defanged)", "指標（無害化表記）"),
        heading: language.pick("Indicators (defanged)", "指標（無害化表記）"),
        blocks,
    })
}
