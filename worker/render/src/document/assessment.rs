//! Builds the assessment: the verdict with its reason, the records, and the rules that overrode the analyst.

use nightshift_alert::ContentFlag;
use nightshift_pipeline::report::{GroupedRecord, Report};

use super::{Block, Part, Section};
use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of records, and of rules.
const MOST: usize = 8;

pub(super) fn section(report: &Report, language: Language) -> Section {
    let severity = words::severity(language, report.severity, report.assessed_severity);
    let mut blocks = vec![
        Block::Labelled(language.pick("Verdict", "判定"), verdict(report, language)),
        Block::Labelled(
            language.pick("Severity", "重要度"),
            Line::default().made(severity),
        ),
    ];
    if let Some(why) = &report.failed {
        blocks.push(Block::Labelled(
            language.pick("The run failed", "実行の失敗"),
            Line::from_sentence(why),
        ));
    }
    // The records that cleared the alert are in the section Why.
    if !report.verdict.is_benign() {
        for record in report.grouped_records().iter().take(MOST) {
            let begin = Line::from_static(language.pick(
                "On record, but not enough to clear it: ",
                "記録はあるが、無害とするには不足: ",
            ));
            blocks.push(Block::Item(begin.then(&self::record(record, language))));
        }
    }
    for rule in report.overridden.iter().take(MOST) {
        blocks.push(Block::Item(
            Line::from_static(language.pick(
                "A rule overrode the analyst (",
                "規則が分析者の判断を上書き（",
            ))
            .name(&rule.rule.replace('_', " "))
            .say(language.pick("): ", "）: "))
            .sentence(&rule.text),
        ));
    }
    let read = read(&report.alert.flags, language);
    if !read.is_empty() {
        blocks.push(Block::Labelled(
            language.pick("Reading the alert", "アラートの読み取り"),
            read,
        ));
    }
    Section {
        part: Part::Assessment,
        title: language.pick("Assessment", "評価"),
        heading: language.pick("Assessment", "評価"),
        blocks,
    }
}

fn verdict(report: &Report, language: Language) -> Line {
    Line::from_static(language.verdict_of(report))
        .say(language.pick(", ", "、"))
        .say(language.confidence(report.confidence))
        .say(": ")
        .say(language.reason_of(report))
}

/// Returns the text of a record: `… is an authorised scanner (SCAN-7); approved by …; holds from … until … [E4]`.
pub(super) fn record(told: &GroupedRecord<'_>, language: Language) -> Line {
    let record = told.record;
    let mut line = Line::from_sentence(record.statement.trim_end_matches('.'));
    if !record.statement.contains(&record.reference) {
        line = line
            .say(" (")
            .name(&record.kind.replace('_', " "))
            .say(" ")
            .name(&record.reference)
            .say(")");
    }
    let about = told.about.iter().take(MOST);
    let about = joined(about.map(|one| Line::default().value(one)), ", ");
    let line = match about.is_empty() {
        false => line
            .say(language.pick("; about ", "; 対象 "))
            .then(&about)
            .and_more(language, MOST, told.about.len()),
        true => line,
    };
    let line = line
        .say(language.pick("; approved by ", "; 承認 "))
        .name(&record.approved_by);
    let (from_word, until_word) = (
        language.pick("; holds from ", "; 有効期間 "),
        language.pick(" until ", " ～ "),
    );
    let line = match (record.from, record.until) {
        (Some(from), Some(until)) => line.say(from_word).at(from).say(until_word).at(until),
        (Some(from), None) => line.say(from_word).at(from).say(language.pick("", " から")),
        (None, Some(until)) => line
            .say(language.pick("; holds until ", "; 有効期限 "))
            .at(until),
        (None, None) => line,
    };
    line.cite(record.evidence)
}

/// Returns what was cut, replaced or removed when the alert was parsed.
fn read(flags: &[ContentFlag], language: Language) -> Line {
    let count = |wanted: fn(&ContentFlag) -> bool| flags.iter().filter(|flag| wanted(flag)).count();
    let sum = |of: fn(&ContentFlag) -> usize| flags.iter().map(of).fold(0, usize::saturating_add);
    let secrets = |flag: &ContentFlag| match flag {
        ContentFlag::Redacted { count } => *count,
        _ => 0,
    };
    let hidden = |flag: &ContentFlag| match flag {
        ContentFlag::HiddenText { count } => *count,
        _ => 0,
    };
    let mended = |flag: &ContentFlag| {
        matches!(
            flag,
            ContentFlag::Replaced { .. } | ContentFlag::DuplicateKey { .. }
        )
    };
    let said = [
        (
            count(|flag| matches!(flag, ContentFlag::Truncated { .. })),
            ["field was cut", "fields were cut", "フィールドを切り詰め"],
        ),
        (
            count(mended),
            [
                "field was not valid JSON and was mended",
                "fields were not valid JSON and were mended",
                "フィールドの不正な JSON を修復",
            ],
        ),
        (
            sum(secrets),
            [
                "secret was taken out",
                "secrets were taken out",
                "件の秘密情報を除去",
            ],
        ),
        (
            sum(hidden),
            [
                "hidden character was taken out",
                "hidden characters were taken out",
                "個の不可視文字を除去",
            ],
        ),
        (
            count(|flag| matches!(flag, ContentFlag::Instructions { .. })),
            [
                "field talks to the analyst",
                "fields talk to the analyst",
                "フィールドが分析者に話しかけている",
            ],
        ),
    ];
    let said = said.into_iter().filter(|(number, _)| *number > 0);
    let said = said.map(|(number, words)| {
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        Line::default().count(language, number, words)
    });
    let severities = flags.iter().filter_map(|flag| match flag {
        ContentFlag::UnknownSeverity { value } => Some(unknown_severity(value, language)),
        _ => None,
    });
    joined(said.chain(severities), "; ")
}

/// Returns a note about a severity whose meaning is not known.
fn unknown_severity(value: &str, language: Language) -> Line {
    Line::from_static(language.pick("the severity ", "重要度 "))
        .name(value)
        .say(language.pick(
            " is on no scale that is known for this feed, so ours is a guess",
            " はこのフィードの既知の尺度になく、当方の重要度は推定",
        ))
}
