//! Builds the thread below the message: what did not fit there, then further findings, timeline, plan with results,
//! evidence and indicators. Each message of the thread has its own key, so none is added twice.

use nightshift_pipeline::delivery_payload::DeliveryPayload;

use super::blocks::{Message, Style, reply, section};
use super::limits::{BLOCK, FALLBACK, THREAD_PARTS};
use super::rich::{Piece, Sheet, escape, fit, pieces};
use crate::Language;
use crate::document::{Document, Part, Reader, document};

/// The parts that are never in the message itself.
const BELOW: [Part; 11] = [
    Part::Later,
    Part::Details,
    Part::Vendor,
    Part::Assessment,
    Part::Ledger,
    Part::Further,
    Part::Unverified,
    Part::Timeline,
    Part::Plan,
    Part::Evidence,
    Part::Indicators,
];
/// The parts of the message, repeated in the thread when they did not fit.
const ABOVE: [Part; 6] = [
    Part::Head,
    Part::First,
    Part::Facts,
    Part::Why,
    Part::Against,
    Part::WouldDecide,
];

/// A message of the thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThreadReply {
    /// The key within the case.
    pub(super) part: String,
    pub(super) message: Message,
    /// True if the channel also shows the message and is notified.
    pub(super) is_broadcast: bool,
}

/// Returns the thread of a case. The first message may be a change that the channel is notified of. `is_bare` means
/// that the message is not the one edited before, so it gets all details again.
pub(super) fn below(
    showing: &DeliveryPayload,
    style: &Style,
    reader: Reader,
    is_cut: bool,
    is_bare: bool,
) -> Vec<ThreadReply> {
    let report = &showing.report;
    // A deleted message with replies leaves a trace in the channel. A canary gets no replies, so that none is left.
    if showing.is_early() || report.is_canary() || (showing.is_minor && !is_bare) {
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
    let is_told = showing
        .delivered_report()
        .is_some_and(|shown| shown.revision == report.revision && shown.status == report.status);
    if is_bare || !is_told {
        let document = document(report, reader);
        let parts = messages(&document, is_cut, style.language);
        all.extend(
            parts
                .into_iter()
                .enumerate()
                .map(|(index, message)| ThreadReply {
                    part: format!("r{}.{index}", report.revision),
                    message,
                    is_broadcast: false,
                }),
        );
    }
    all
}

/// Spreads the sections over as many messages as they need, up to a bound.
fn messages(document: &Document, is_cut: bool, language: Language) -> Vec<Message> {
    let above = ABOVE.iter().filter(|_| is_cut);
    let sections = above
        .chain(&BELOW)
        .filter_map(|part| section(document, *part));
    let mut sheets = vec![Sheet::default()];
    for one in sections {
        let title = if one.title.is_empty() {
            one.heading
        } else {
            one.title
        };
        let mut made = vec![Piece::heading(title)];
        for block in &one.blocks {
            let all = pieces(block, language, BLOCK - 1).0;
            // A command that is longer than a block is only on the page of the case, because half of one does
            // something else.
            made.extend(all.into_iter().filter(|piece| piece.chars <= BLOCK));
        }
        for piece in made {
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
        is_cut: false,
    })
    .collect()
}
