//! Builds the message of a case as blocks: the short form of its report, in one screen of a phone. The thread has the
//! whole report.

use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::report::Report;
use serde_json::{Value, json};

use super::limits::{CHANGED, FALLBACK, FIELD, FIELDS, HEADER, PEOPLE, SENTENCE};
use super::phone::{COLUMNS, Group, LINES, Row, button_lines, lines, share_lines};
use super::rich::{Piece, Shape, Sheet, escape, fit, plain_text, units};
use super::{buttons, change};
use crate::document::{
    Block, Brief, Document, Part, Reader, Section, document, early_header, header, instead_of,
    summary,
};
use crate::line::Line;
use crate::words;
use crate::{Language, Links};

/// A message that is ready to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Escaped text for notifications and screen readers.
    pub text: String,
    pub blocks: Vec<Value>,
}

/// The settings of a destination's messages.
#[derive(Debug, Clone, Default)]
pub struct Style {
    pub links: Links,
    pub language: Language,
    pub is_interactive: bool,
}

/// Builds the message of a case in any status. A report is shown in short; the thread has the whole.
pub fn message(showing: &DeliveryPayload, style: &Style, reader: Reader) -> Message {
    if showing.is_early() {
        return early(showing, style, reader);
    }
    let language = style.language;
    let brief = Brief::from_report(&showing.report, language);
    let buttons = buttons::buttons(showing, &style.links, style.is_interactive, language);
    let labels = buttons.iter().map(|(label, _)| *label);
    let mut sheet = Sheet::default();
    screen(&mut sheet, showing, &brief, button_lines(labels), language);
    buttons::put(&mut sheet, buttons);
    let header = fit(brief.header.as_str(), HEADER);
    Message {
        text: fallback(&header, &showing.report.summary),
        blocks: sheet.finish(),
    }
}

/// Adds header, short form and context line, as much of them as a phone has lines for.
fn screen(
    sheet: &mut Sheet,
    showing: &DeliveryPayload,
    brief: &Brief,
    button_lines: usize,
    language: Language,
) {
    let mut rows = rows(showing, brief, language);
    share_lines(&mut rows, LINES.saturating_sub(button_lines));
    let mut group = Group::Header;
    for row in rows {
        // Each kind of row begins a block, but these two stand below another.
        if row.group != group && !matches!(row.group, Group::Reach | Group::Unchecked) {
            sheet.close();
            group = row.group;
        }
        match group {
            Group::Header => header_block(sheet, &row.text()),
            Group::About => small(sheet, &[row.text()]),
            _ => sheet.put(row.into_piece()),
        }
    }
    sheet.close();
}

/// Returns the rows of the short form in their order. The ranks say what is left out first where there is no room.
fn rows(showing: &DeliveryPayload, brief: &Brief, language: Language) -> Vec<Row> {
    let head = |label, line: &Line| Row::new(Group::Happened, label, line.as_str());
    let header = short_header(&showing.report, language);
    let mut rows =
        vec![Row::new(Group::Header, "", header.as_str()).at_least(lines(header.as_str()))];
    rows.extend(changed(showing, brief, language).map(|row| row.may_go(3)));
    rows.push(head("", &brief.happened));
    // Who approved it stands in the reasons, too.
    let decided_by = brief.decided_by.iter().filter(|_| !brief.is_optional);
    rows.extend(decided_by.map(|line| head("", line)));
    rows.extend(brief.warning.iter().map(|line| head("⚠ ", line)));
    let still = language.pick("Still happening? ", "継続中か？ ");
    let evidence = Line::default().cite(brief.since_evidence);
    let tail = match brief.counts.is_empty() {
        true => evidence,
        false => evidence.say(language.pick(", ", "、")).then(&brief.counts),
    };
    rows.push(
        Row::new(Group::Still, still, brief.since.as_str()).at(brief.last_seen, tail.as_str()),
    );
    let reach = language.pick("Reach: ", "影響範囲: ");
    rows.push(Row::new(Group::Reach, reach, brief.reach.as_str()));
    if brief.actions.is_empty() {
        let first = language.pick("First: ", "最初に: ");
        rows.push(Row::new(Group::Actions, first, brief.no_action));
    }
    let first = match brief.is_optional {
        true => [language.pick("Optional: ", "任意: "); 3],
        false => {
            let then = language.pick("Then: ", "次に: ");
            [language.pick("First: ", "最初に: "), then, then]
        }
    };
    rows.extend(
        first
            .into_iter()
            .zip(&brief.actions)
            .zip(0..)
            .map(|((label, line), index)| {
                let row = Row::new(Group::Actions, label, line.as_str());
                match index {
                    0 => row,
                    1 => row.may_go(2),
                    _ => row.may_go(1),
                }
            }),
    );
    let why = [
        language.pick("Why: ", "根拠: "),
        language.pick("Also: ", "ほか: "),
    ];
    rows.extend(
        why.into_iter()
            .zip(&brief.why)
            .zip(0..)
            .map(|((label, line), index)| {
                let row = Row::new(Group::Why, label, line.as_str());
                match index {
                    0 => row,
                    _ => row.may_go(0),
                }
            }),
    );
    let unchecked = language.pick("Not checked: ", "未確認: ");
    rows.push(Row::new(
        Group::Unchecked,
        unchecked,
        brief.not_checked.as_str(),
    ));
    let act = change::acts(&showing.workflow, language).pop();
    let people = language.pick("People: ", "対応: ");
    rows.extend(act.map(|act| Row::new(Group::People, people, act.as_str())));
    rows.push(Row::new(Group::About, "", brief.about.as_str()));
    rows
}

/// Returns the header in two lines, with as much of the title as fits.
fn short_header(report: &Report, language: Language) -> Line {
    let fits = |line: &Line| lines(line.as_str()) <= 2;
    let mut all = (COLUMNS..=HEADER)
        .rev()
        .map(|most| header(report, language, most));
    let found = all.find(fits);
    found.unwrap_or_else(|| header(report, language, COLUMNS))
}

/// Adds the header, whose text has been shortened to its lines.
fn header_block(sheet: &mut Sheet, text: &str) {
    let header = fit(text, HEADER);
    sheet.block(
        json!({ "type": "header", "text": plain_text(&header) }),
        units(&header),
    );
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
    header_block(&mut sheet, &header);
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
    let is_interactive = style.is_interactive && is_open;
    buttons::put(
        &mut sheet,
        buttons::buttons(showing, &style.links, is_interactive, language),
    );
    Message {
        text: fallback(&header, ""),
        blocks: sheet.finish(),
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
    sheet.put(Piece::new(Shape::Line, word, changes.as_str(), CHANGED));
    let summary = summary(&showing.report);
    for text in [document.header.as_str(), summary.as_str()] {
        sheet.put(Piece::new(Shape::Line, "", text, 2 * SENTENCE));
    }
    Some(Message {
        text: fallback(&line, document.header.as_str()),
        blocks: sheet.finish(),
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

/// Returns what changed: since the previous revision, or else since the last delivery.
fn changed(showing: &DeliveryPayload, brief: &Brief, language: Language) -> Option<Row> {
    let row = |label, line: &Line| Row::new(Group::Happened, label, line.as_str());
    let before = showing.report.again.as_ref().map(|again| again.revision);
    let shown = showing.delivered_report().map(|shown| shown.revision);
    let changes =
        change::changes(showing, language).filter(|_| before.is_none() || before != shown);
    match changes {
        Some(changes) => Some(row(language.pick("Changed: ", "変更: "), &changes)),
        None => brief.changed.as_ref().map(|line| row("", line)),
    }
}

/// Adds facts in two columns.
fn facts(sheet: &mut Sheet, section: &Section, most: usize) {
    let mut chars = 0;
    let mut fields = Vec::new();
    for block in &section.blocks {
        let Block::Facts(facts) = block else { continue };
        for (label, line) in facts.iter().take(most.min(FIELDS)) {
            let text = format!("{label}: {}", line.as_str());
            let short = fit(&text, FIELD);
            chars += units(&short);
            fields.push(plain_text(&short));
        }
    }
    if !fields.is_empty() {
        sheet.block(json!({ "type": "section", "fields": fields }), chars);
    }
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
    let mut piece = Piece::new(Shape::Line, label, "", SENTENCE);
    piece.spans.push(date);
    piece.chars = chars;
    sheet.put(piece);
}

/// Adds what people did with the case.
pub(super) fn desk(sheet: &mut Sheet, showing: &DeliveryPayload, language: Language) {
    let acts = change::acts(&showing.workflow, language);
    if acts.is_empty() {
        return;
    }
    let status = format!(
        "{}: {}",
        language.pick("People", "対応状況"),
        language.workflow_status(showing.workflow.status)
    );
    let each = (PEOPLE - units(&status) - 1) / acts.len();
    sheet.put(Piece::heading(&status));
    for line in acts {
        sheet.put(Piece::new(Shape::Bullet(0), "", line.as_str(), each));
    }
    sheet.close();
}

fn small(sheet: &mut Sheet, lines: &[String]) {
    let elements: Vec<Value> = lines.iter().map(|line| plain_text(line)).collect();
    let chars = lines.iter().map(|line| units(line)).sum();
    sheet.block(json!({ "type": "context", "elements": elements }), chars);
}
