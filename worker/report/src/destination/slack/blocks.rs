//! Builds the message of a case as blocks, in the order of report.md, "In fifteen seconds". Parts without room go to
//! the thread, and the message says so.

use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::report::Report;
use serde_json::{Value, json};

use super::limits::{FALLBACK, FIELD, FIELDS, HEADER, SENTENCE, room};
use super::rich::{Piece, Shape, Sheet, escape, fit, pieces, plain_text, units};
use super::{buttons, change};
use crate::Language;
use crate::document::{
    Block, Document, Part, Reader, Section, document, early_header, instead_of, summary,
};
use crate::line::Line;
use crate::links::Links;
use crate::words;

/// A message that is ready to send.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// Escaped text for notifications and screen readers.
    pub(super) text: String,
    pub(super) blocks: Vec<Value>,
    /// True if something did not fit.
    pub(super) is_cut: bool,
}

/// The settings of a destination's messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    pub(super) links: Links,
    pub(super) language: Language,
    pub(super) is_interactive: bool,
}

/// Builds the message of a case in any status.
pub(super) fn message(showing: &DeliveryPayload, style: &Style, reader: Reader) -> Message {
    if showing.is_early() {
        return early(showing, style, reader);
    }
    let document = document(&showing.report, reader);
    let header = fit(document.header.as_str(), HEADER).into_owned();
    let mut sheet = Sheet::default();
    sheet.block(
        json!({ "type": "header", "text": plain_text(&header) }),
        units(&header),
    );
    changed(&mut sheet, showing, style.language);
    let mut is_cut = false;
    for (part, most) in [
        (Part::Head, room::HEAD),
        (Part::First, room::FIRST),
        (Part::Facts, 0),
        (Part::Why, room::WHY),
        (Part::Against, room::AGAINST),
        (Part::WouldDecide, room::WOULD_DECIDE),
    ] {
        let Some(section) = section(&document, part) else {
            continue;
        };
        if part == Part::Facts {
            is_cut |= facts(&mut sheet, section, FIELDS);
        } else {
            is_cut |= put(&mut sheet, section, most, style.language);
        }
        if part == Part::Head {
            local_time(&mut sheet, showing, style.language);
        }
        sheet.close();
    }
    desk(&mut sheet, showing, style.language);
    context(&mut sheet, &document, is_cut, style.language);
    buttons::put(
        &mut sheet,
        showing,
        &style.links,
        style.is_interactive,
        style.language,
    );
    Message {
        text: fallback(&header, &showing.report.summary),
        blocks: sheet.finish(),
        is_cut,
    }
}

/// Returns the sentence that the case is being investigated or was cancelled.
fn stands(report: &Report, language: Language) -> Line {
    match (report.called_off_by(), report.status) {
        (Some(who), _) => Line::from_static(language.pick("Called off by ", "取消: "))
            .name(who)
            .say(language.pick(
                " before it came to a verdict. Nothing here was decided.",
                "。判定に至っておらず、何も判断していません。",
            )),
        (None, CaseStatus::Cancelled) => Line::from_static(language.pick(
            "Called off before it came to a verdict. Nothing here was decided.",
            "判定に至る前に取り消されました。何も判断していません。",
        )),
        _ => Line::from_static(language.pick(
            "It is being looked into; nothing is decided yet. The report will replace this message.",
            "調査中です。まだ何も判断していません。完了後、このメッセージがレポートに置き換わります。",
        )),
    }
}

/// Builds the message of a case without a report: the facts of its alert and the status.
fn early(showing: &DeliveryPayload, style: &Style, reader: Reader) -> Message {
    let (report, language) = (&showing.report, style.language);
    let header = fit(early_header(report, language).as_str(), HEADER).into_owned();
    let mut sheet = Sheet::default();
    sheet.block(
        json!({ "type": "header", "text": plain_text(&header) }),
        units(&header),
    );
    sheet.put(Piece::say(stands(report, language).as_str()));
    for line in instead_of(report, language) {
        sheet.put(Piece::say(line.as_str()));
    }
    local_time(&mut sheet, showing, language);
    sheet.close();
    let document = document(report, reader);
    if let Some(section) = section(&document, Part::Facts) {
        // The last fact is the assessed severity, which is unknown yet. The header shows the severity as sent.
        facts(&mut sheet, section, known(section));
    }
    desk(&mut sheet, showing, language);
    let case = Line::from_static(language.pick("case ", "ケース ")).name(&report.case_id);
    small(&mut sheet, &[case.as_str().to_owned()]);
    let is_open = report.status != CaseStatus::Cancelled;
    buttons::put(
        &mut sheet,
        showing,
        &style.links,
        style.is_interactive && is_open,
        language,
    );
    Message {
        text: fallback(&header, ""),
        blocks: sheet.finish(),
        is_cut: false,
    }
}

/// Builds a reply that says what changed. Edits do not notify anybody, replies do.
pub(super) fn reply(showing: &DeliveryPayload, style: &Style, reader: Reader) -> Option<Message> {
    let language = style.language;
    let changes = change::changes(showing, language)?;
    let document = document(&showing.report, reader);
    let word = if showing.is_worse() {
        language.pick("It got worse: ", "悪化しました: ")
    } else {
        language.pick("It changed: ", "変わりました: ")
    };
    let line = format!("{word}{}", changes.as_str());
    let mut sheet = Sheet::default();
    sheet.put(Piece::new(Shape::Line, word, changes.as_str(), room::CHANGED).0);
    let summary = summary(&showing.report);
    for text in [document.header.as_str(), summary.as_str()] {
        sheet.put(Piece::new(Shape::Line, "", text, 2 * SENTENCE).0);
    }
    Some(Message {
        text: fallback(&line, document.header.as_str()),
        blocks: sheet.finish(),
        is_cut: false,
    })
}

pub(super) fn section(document: &Document, part: Part) -> Option<&Section> {
    document.sections.iter().find(|one| one.part == part)
}

/// Returns the header and summary, escaped. This is the only text that Slack parses for syntax.
fn fallback(header: &str, summary: &str) -> String {
    let summary = nightshift_alert::text::sanitize(summary, FALLBACK);
    let text = format!("{header}\n{summary}");
    escape(fit(text.trim_end(), FALLBACK).as_ref())
}

/// Adds what changed since the last delivery, unless the report itself compares with the same revision.
fn changed(sheet: &mut Sheet, showing: &DeliveryPayload, language: Language) {
    let before = showing.report.again.as_ref().map(|again| again.revision);
    if before.is_some() && before == showing.delivered_report().map(|shown| shown.revision) {
        return;
    }
    if let Some(line) = change::changes(showing, language) {
        let label = language.pick("Changed since it was last shown: ", "前回表示からの変更: ");
        sheet.put(Piece::new(Shape::Line, label, line.as_str(), room::CHANGED).0);
        sheet.close();
    }
}

/// Adds a section as rich text of at most `most` units. Returns whether something was left out.
fn put(sheet: &mut Sheet, section: &Section, most: usize, language: Language) -> bool {
    let mut left = most;
    let mut is_cut = false;
    let title = (!section.title.is_empty()).then(|| Piece::heading(section.title));
    let mut add = |made: Vec<Piece>| {
        let chars = made.iter().map(|piece| piece.chars).sum::<usize>();
        let fits = chars <= left;
        if fits {
            left -= chars;
            made.into_iter().for_each(|piece| sheet.put(piece));
        }
        fits
    };
    add(title.into_iter().collect());
    for block in &section.blocks {
        let (made, cut) = pieces(block, language, SENTENCE);
        is_cut |= cut;
        if add(made) {
            continue;
        }
        is_cut = true;
        // A command is shown whole or not at all, because half of one does something else.
        if let Block::Command(label, _) = block {
            let there = language.pick(" it stands in the thread", " スレッドにあります");
            add(vec![Piece::new(Shape::Line, label, there, SENTENCE).0]);
        }
    }
    is_cut
}

/// Adds facts in two columns. Returns whether something was cut.
fn facts(sheet: &mut Sheet, section: &Section, most: usize) -> bool {
    let mut is_cut = false;
    let mut chars = 0;
    let mut fields = Vec::new();
    for block in &section.blocks {
        let Block::Facts(facts) = block else { continue };
        for (label, line) in facts.iter().take(most.min(FIELDS)) {
            let text = format!("{label}: {}", line.as_str());
            let short = fit(&text, FIELD);
            is_cut |= short != text;
            chars += units(&short);
            fields.push(plain_text(&short));
        }
    }
    if !fields.is_empty() {
        sheet.block(json!({ "type": "section", "fields": fields }), chars);
    }
    is_cut
}

/// Returns how many facts come from the alert alone.
fn known(section: &Section) -> usize {
    match section.blocks.first() {
        Some(Block::Facts(facts)) => facts.len().saturating_sub(1),
        _ => 0,
    }
}

/// Adds when the alert was last seen. Slack renders the time in the reader's time zone and keeps the age current.
fn local_time(sheet: &mut Sheet, showing: &DeliveryPayload, language: Language) {
    let alert = &showing.report.alert;
    let Some(last) = alert.last_seen.or(alert.first_seen) else {
        return;
    };
    let label = language.pick("Last event, your time: ", "最終イベント（あなたの時刻）: ");
    let at = words::moment(last);
    let chars = units(label) + 2 * units(&at);
    let date = json!({
        "type": "date", "timestamp": last.timestamp(), "format": "{date_short_pretty} {time} ({ago})", "fallback": at,
    });
    let (mut piece, _) = Piece::new(Shape::Line, label, "", SENTENCE);
    piece.spans.push(date);
    piece.chars = chars;
    sheet.put(piece);
}

/// Adds what people did with the case.
fn desk(sheet: &mut Sheet, showing: &DeliveryPayload, language: Language) {
    let acts = change::acts(&showing.workflow, language);
    if acts.is_empty() {
        return;
    }
    let status = format!(
        "{}: {}",
        language.pick("People", "対応状況"),
        language.workflow_status(showing.workflow.status)
    );
    let each = (room::DESK - units(&status) - 1) / acts.len();
    sheet.put(Piece::heading(&status));
    for line in acts {
        sheet.put(Piece::new(Shape::Bullet(0), "", line.as_str(), each).0);
    }
    sheet.close();
}

/// Adds small text with the case, the analyst and the cost.
fn context(sheet: &mut Sheet, document: &Document, is_cut: bool, language: Language) {
    let about = section(document, Part::About).into_iter();
    let mut lines: Vec<String> = about
        .flat_map(|section| [section.blocks.first(), section.blocks.last()])
        .filter_map(|block| match block {
            Some(Block::Text(line)) => Some(fit(line.as_str(), room::CONTEXT).into_owned()),
            _ => None,
        })
        .collect();
    if is_cut {
        let cut = language.pick(
            "Shortened: the whole is in the thread.",
            "省略あり。全文はスレッドにあります。",
        );
        lines.push(cut.to_owned());
    }
    small(sheet, &lines);
}

fn small(sheet: &mut Sheet, lines: &[String]) {
    let elements: Vec<Value> = lines.iter().map(|line| plain_text(line)).collect();
    let chars = lines.iter().map(|line| units(line)).sum();
    sheet.block(json!({ "type": "context", "elements": elements }), chars);
}
