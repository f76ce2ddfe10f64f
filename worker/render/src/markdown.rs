//! Renders the report as markdown, for files and tickets. Foreign text is never syntax in it.

mod escape;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use nightshift_pipeline::report::Report;

use crate::Language;
use crate::document::{Block, Brief, Document, FindingItem, Reader, Section, document};
use escape::fence;

pub use escape::escape;

/// Renders the report as CommonMark with GitHub's tables. It has the same parts as on a terminal.
#[must_use]
pub fn render_markdown(report: &Report, now: DateTime<Utc>) -> String {
    render_markdown_in(Language::En, report, now)
}

/// Renders the report as `markdown` does, with labels in this language.
#[must_use]
pub fn render_markdown_in(language: Language, report: &Report, now: DateTime<Utc>) -> String {
    let reader = reader(language, now);
    render(&document(report, reader), language)
}

/// Renders the report in short. Its last line is the command that shows the whole: `show` and the id of the case.
#[must_use]
pub fn render_short_markdown(report: &Report, now: DateTime<Utc>, show: &'static str) -> String {
    let reader = reader(Language::En, now);
    let brief = Brief::from_report(report, reader.language);
    render(&brief.into_document(reader, show), reader.language)
}

const fn reader(language: Language, now: DateTime<Utc>) -> Reader {
    Reader {
        now,
        local: None,
        language,
        is_kept: false,
        is_page: false,
    }
}

fn render(document: &Document, language: Language) -> String {
    let mut out = format!("# {}\n", escape(document.header.as_str()));
    for section in &document.sections {
        out.push('\n');
        out.push_str(&part(section, language));
    }
    out
}

/// Renders one section with its heading.
pub fn part(section: &Section, language: Language) -> String {
    let mut out = format!("## {}\n\n", section.heading);
    let mut previous = None;
    for block in &section.blocks {
        // Paragraphs, tables and fences need a blank line before them; the lines of a list do not.
        if previous.is_some_and(|before| !is_list(before) || !is_list(block)) {
            out.push('\n');
        }
        write(block, language, &mut out);
        previous = Some(block);
    }
    out
}

const fn is_list(block: &Block) -> bool {
    matches!(
        block,
        Block::Item(_)
            | Block::Step(..)
            | Block::Evidence(..)
            | Block::Finding(_)
            | Block::Numbered(..)
            | Block::Below(_)
            | Block::Command(..)
    )
}

fn write(block: &Block, language: Language, out: &mut String) {
    match block {
        Block::Text(line) => out.push_str(&format!("{}\n", escape(line.as_str()))),
        Block::Warning(line) => {
            let warning = language.pick("Warning:", "警告:");
            out.push_str(&format!("> **{warning}** {}\n", escape(line.as_str())));
        }
        Block::Labelled(label, line) => {
            let colon = if label.ends_with(['?', '？']) {
                ""
            } else {
                ":"
            };
            out.push_str(&format!("**{label}{colon}** {}\n", escape(line.as_str())));
        }
        Block::Item(line)
        | Block::Step(_, line)
        | Block::Evidence(_, line)
        | Block::Finding(FindingItem { line, .. }) => {
            out.push_str(&format!("- {}\n", escape(line.as_str())))
        }
        Block::Numbered(number, line) => {
            out.push_str(&format!("{number}. **{}**\n", escape(line.as_str())));
        }
        Block::Below(line) => out.push_str(&format!("   - {}\n", escape(line.as_str()))),
        Block::Command(label, lines) => command(label, lines, out),
        Block::Facts(facts) => {
            out.push_str(language.pick(
                "| Fact | Value |\n|---|---|\n",
                "| 項目 | 値 |\n|---|---|\n",
            ));
            for (name, line) in facts {
                out.push_str(&format!("| {name} | {} |\n", escape(line.as_str())));
            }
        }
    }
}

/// Writes a fenced command inside the bullet of its label.
fn command(label: &str, lines: &[String], out: &mut String) {
    out.push_str(&format!("   - {label}\n"));
    let fence = fence(lines);
    out.push_str(&format!("\n     {fence}sh\n"));
    for line in lines {
        out.push_str(&format!("     {line}\n"));
    }
    out.push_str(&format!("     {fence}\n\n"));
}
