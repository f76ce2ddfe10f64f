//! Renders the report for a terminal: plain text, wrapped to the width. Colour repeats what a word says.

mod layout;
#[cfg(test)]
mod tests;

use chrono::{DateTime, FixedOffset, Utc};
use nightshift_pipeline::report::Report;

use crate::Language;
use crate::document::{Block, Brief, Document, FindingItem, Reader, document};
use layout::{Paint, TextPage};

/// The properties of the terminal, and the time of its reader.
#[derive(Debug, Clone, Copy)]
pub struct TextOptions {
    /// The number of columns, from 40 to 160.
    pub width: usize,
    /// True if ANSI colours may be used. Colour only repeats what a word says.
    pub colour: bool,
    /// The current time, for "12 min ago".
    pub now: DateTime<Utc>,
    /// The reader's UTC offset, shown beside UTC if known.
    pub local: Option<FixedOffset>,
}

/// Renders the report for a terminal. Only commands may be longer than the width, because they must be copied whole.
#[must_use]
pub fn render_text(report: &Report, options: &TextOptions) -> String {
    render(&document(report, options.reader()), options)
}

/// Renders the report in short, in about 25 lines. Its last line is the command that shows the whole: `show` and the id
/// of the case.
#[must_use]
pub fn render_short_text(report: &Report, options: &TextOptions, show: &'static str) -> String {
    let reader = options.reader();
    let brief = Brief::from_report(report, reader.language);
    render(&brief.into_document(reader, show), options)
}

impl TextOptions {
    const fn reader(&self) -> Reader {
        Reader {
            now: self.now,
            local: self.local,
            language: Language::En,
            is_kept: false,
            is_page: false,
        }
    }
}

fn render(document: &Document, options: &TextOptions) -> String {
    let mut page = TextPage::new(options.width.clamp(40, 160), options.colour);
    write(document, &mut page);
    page.into_text()
}

fn write(document: &Document, page: &mut TextPage) {
    page.line(
        Paint::from_urgency(document.urgency),
        "",
        "  ",
        document.header.as_str(),
    );
    for section in &document.sections {
        page.blank();
        if !section.title.is_empty() {
            page.line(Paint::Title, "", "", section.title);
        }
        let mut previous: Option<&Block> = None;
        for block in &section.blocks {
            let is_prose = matches!(previous, Some(Block::Text(_) | Block::Warning(_)));
            if is_prose && matches!(block, Block::Labelled(..)) {
                page.blank();
            }
            one(block, page);
            previous = Some(block);
        }
    }
}

fn one(block: &Block, page: &mut TextPage) {
    match block {
        Block::Text(line) => page.line(Paint::None, "  ", "  ", line.as_str()),
        Block::Warning(line) => page.line(Paint::Warning, "  ! ", "    ", line.as_str()),
        Block::Labelled(full, line) => {
            let label = full.trim_end_matches('?');
            let end = if label.len() < full.len() { '?' } else { ':' };
            let text = format!("{label}{end} {}", line.as_str());
            page.labelled(label.len() + 1, "  ", "    ", &text);
        }
        Block::Item(line)
        | Block::Step(_, line)
        | Block::Evidence(_, line)
        | Block::Finding(FindingItem { line, .. }) => {
            page.line(Paint::None, "  - ", "    ", line.as_str())
        }
        Block::Numbered(number, line) => {
            page.line(
                Paint::Title,
                &format!("  {number}. "),
                "     ",
                line.as_str(),
            );
        }
        Block::Below(line) => page.line(Paint::None, "      ", "      ", line.as_str()),
        // No foreign text begins in this column, so none can pass for a command.
        Block::Command(label, lines) => {
            page.line(Paint::None, "      ", "      ", label);
            for line in lines {
                page.command("        ", line);
            }
        }
        Block::Facts(facts) => page.facts(facts),
    }
}
