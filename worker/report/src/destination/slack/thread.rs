//! What stands below the message: all that it had no room for, then further findings, timeline, plan with results,
//! evidence, indicators. Each message of the thread has a key of its own, so that none is added twice.

use nightshift_pipeline::Showing;

use super::blocks::{Message, Style, reply, section};
use super::limits::{BLOCK, FALLBACK, THREAD_PARTS};
use super::rich::{Piece, Sheet, escape, fit, pieces};
use crate::Language;
use crate::document::{Document, Part, Reader, document};

/// What is never in the message itself.
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
/// What is there, and here too where it had no room there.
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
pub(super) struct Below {
    /// Its key within the case.
    pub(super) part: String,
    /// What it says.
    pub(super) message: Message,
    /// Whether the channel sees it too, and is notified.
    pub(super) is_broadcast: bool,
}

/// What belongs below the message of a case as it stands; the first is a change that somebody should hear. One that is
/// not the message that was edited before is bare: it gets the details, whatever was told below that one.
pub(super) fn below(
    showing: &Showing,
    style: &Style,
    reader: Reader,
    is_cut: bool,
    is_bare: bool,
) -> Vec<Below> {
    let report = &showing.report;
    // A message with replies leaves a mark where it was: a canary is taken away without one.
    if showing.is_early() || report.is_canary() || (showing.minor && !is_bare) {
        return Vec::new();
    }
    let mut all = Vec::new();
    if !showing.minor
        && let Some(message) = reply(showing, style, reader)
    {
        // By what it says, not by its version: the same change is told once, however often it is tried.
        let part = format!(
            "r{}.changed.{}.{}",
            report.revision,
            report.verdict.as_str(),
            report.assessed_severity.as_str()
        );
        all.push(Below {
            part,
            message,
            is_broadcast: showing.is_worse(),
        });
    }
    let is_told = showing
        .earlier()
        .is_some_and(|shown| shown.revision == report.revision && shown.status == report.status);
    if is_bare || !is_told {
        let document = document(report, reader);
        let parts = messages(&document, is_cut, style.language);
        all.extend(parts.into_iter().enumerate().map(|(index, message)| Below {
            part: format!("r{}.{index}", report.revision),
            message,
            is_broadcast: false,
        }));
    }
    all
}

/// The sections, flowing over as many messages as they need, up to a bound.
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
            // A command that no block holds is on the page alone: half of one does something else.
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
        let more = language.of(
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
