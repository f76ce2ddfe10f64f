//! Builds the thread below the message: the whole report, with commands, evidence, plan and timeline. Its messages are
//! edited when the report changes. Each has its own key, so none is added twice.

use nightshift_pipeline::delivery_payload::DeliveryPayload;
use sha2::{Digest as _, Sha256};

use super::blocks::{Message, Style, desk, reply};
use super::limits::{BLOCK, FALLBACK, THREAD_PARTS};
use super::rich::{Piece, Sheet, escape, fit, pieces};
use crate::Language;
use crate::document::{Document, Reader, Section, document};

/// The beginning of the keys of the messages that have the report.
pub const DETAILS: &str = "details.";

/// A message of the thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadReply {
    /// The key within the case.
    pub part: String,
    pub message: Message,
    /// True if the channel also shows the message and is notified.
    pub is_broadcast: bool,
}

impl ThreadReply {
    /// Returns a message that has a part of the report.
    fn details(index: usize, message: Message) -> Self {
        Self {
            part: format!("{DETAILS}{index}"),
            message,
            is_broadcast: false,
        }
    }

    /// Returns the hash of a message that is edited when its content changes, or `None` if it is never edited.
    pub fn content(&self) -> Option<String> {
        if !self.part.starts_with(DETAILS) {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update(self.message.text.as_bytes());
        for block in &self.message.blocks {
            hash.update(block.to_string().as_bytes());
        }
        let hash = hash.finalize();
        let head = hash.iter().take(8);
        Some(head.map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Returns the thread of a case. The first message may be a change that the channel is notified of.
pub fn below(showing: &DeliveryPayload, style: &Style, reader: Reader) -> Vec<ThreadReply> {
    let report = &showing.report;
    // A deleted message with replies leaves a trace in the channel. A canary gets no replies, so that none is left.
    if showing.is_early() || report.is_canary() {
        return Vec::new();
    }
    let mut all = Vec::new();
    if !showing.is_minor
        && let Some(message) = reply(showing, style, reader)
    {
        // The key is what the change says, not its version. The same change is posted once however often it is tried.
        let part = format!(
            "r{}.changed.{}.{}",
            report.revision,
            report.verdict.as_str(),
            report.assessed_severity.as_str()
        );
        all.push(ThreadReply {
            part,
            message,
            is_broadcast: showing.is_worse(),
        });
    }
    let parts = messages(showing, &document(report, reader), style.language).into_iter();
    all.extend(
        (0..)
            .zip(parts)
            .map(|(index, message)| ThreadReply::details(index, message)),
    );
    all
}

/// Returns the content of a message that a shorter report no longer needs.
pub fn emptied(part: &str, language: Language) -> ThreadReply {
    let words = language.pick(
        "Nothing stands here any more: the report became shorter.",
        "レポートが短くなったため、ここには何もありません。",
    );
    let mut sheet = Sheet::default();
    sheet.put(Piece::say(words));
    ThreadReply {
        part: part.to_owned(),
        message: Message {
            text: words.to_owned(),
            blocks: sheet.finish(),
        },
        is_broadcast: false,
    }
}

/// Spreads what people did and the sections over as many messages as they need, up to a bound.
fn messages(showing: &DeliveryPayload, document: &Document, language: Language) -> Vec<Message> {
    let mut first = Sheet::default();
    desk(&mut first, showing, language);
    let mut sheets = vec![first];
    for one in &document.sections {
        for piece in section(one, language) {
            if sheets.last().is_none_or(|last| !last.has_room(piece.chars)) {
                sheets.push(Sheet::default());
            }
            if let Some(last) = sheets.last_mut() {
                last.put(piece);
            }
        }
        if let Some(last) = sheets.last_mut() {
            last.close();
        }
    }
    let is_more = sheets.len() > THREAD_PARTS;
    sheets.truncate(THREAD_PARTS);
    if is_more && let Some(last) = sheets.last_mut() {
        let more = language.pick(
            "There is more; the page of the case and the JSON report have it.",
            "続きはケースのページと JSON レポートにあります。",
        );
        last.put(Piece::say(more));
    }
    let all = sheets.into_iter().filter(|sheet| !sheet.is_empty());
    all.map(|sheet| Message {
        text: escape(&fit(document.header.as_str(), FALLBACK)),
        blocks: sheet.finish(),
    })
    .collect()
}

/// Adds the report below its short form, as much as fits, for a message that can have no thread.
pub fn add_details(message: &mut Message, document: &Document, language: Language) {
    let mut sheet = Sheet::from_blocks(std::mem::take(&mut message.blocks));
    for one in &document.sections {
        for piece in section(one, language) {
            if sheet.has_room(piece.chars) {
                sheet.put(piece);
            }
        }
        sheet.close();
    }
    message.blocks = sheet.finish();
}

/// Returns a section with its title as pieces.
fn section(section: &Section, language: Language) -> Vec<Piece> {
    let title = match section.title {
        "" => section.heading,
        title => title,
    };
    let mut made = vec![Piece::heading(title)];
    for block in &section.blocks {
        let all = pieces(block, language, BLOCK - 1);
        // A command that is longer than a block is only on the page of the case, because half of one does something
        // else.
        made.extend(all.into_iter().filter(|piece| piece.chars <= BLOCK));
    }
    made
}
