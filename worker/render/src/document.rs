//! Builds the document of a report: its contents in order, without layout (report.md, "In fifteen seconds").
//!
//! Each part has a file. Writers walk the document from top to bottom and add only layout, so the contents are the same
//! at all destinations.

mod about;
mod actions;
mod assessment;
mod brief;
mod changed;
mod facts;
mod head;
mod ledger;
mod others;
mod plan;
mod reasons;
mod record;
mod vendor;

use chrono::{DateTime, FixedOffset, Utc};
use nightshift_engine::conclusion::Urgency;
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::report::Report;

use crate::Language;
use crate::line::Line;

pub use brief::Brief;
pub use changed::{differences, reasons};
pub use head::{early as early_header, header, instead_of, summary};
pub use plan::step as plan_step;

/// The maximum number of characters of the header, unless a destination has another limit.
const HEADER: usize = 140;

/// The reader's time and language.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The current time.
    pub now: DateTime<Utc>,
    /// The reader's UTC offset, if known.
    pub local: Option<FixedOffset>,
    pub language: Language,
    /// True if the document may be read long after it was written. Ages such as "12 min ago" would then be wrong.
    pub is_kept: bool,
    /// True for a page, which folds what takes room: it has more entries, and what findings quote.
    pub is_page: bool,
}

impl Reader {
    /// Returns the maximum number of entries of a list for this reader, given that of a message.
    const fn most(self, of_message: usize) -> usize {
        match self.is_page {
            true => 2 * of_message,
            false => of_message,
        }
    }
}

/// A report, ready for a writer.
#[derive(Debug)]
pub struct Document {
    /// Icon, urgency, verdict, severity, marks and title, at most 140 characters.
    pub header: Line,
    /// The urgency, which sets the colour of the header.
    pub urgency: Urgency,
    /// The parts, none of which is empty.
    pub sections: Vec<Section>,
}

/// The part of a report that a section is. Some writers put parts in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The conclusion, warnings, whether the activity continues, and its reach.
    Head,
    /// The first actions.
    First,
    /// Short facts.
    Facts,
    /// Further typed fields of the alert.
    Details,
    /// The vendor's description and advice.
    Vendor,
    /// The findings and records that support the verdict.
    Why,
    /// Findings against the verdict, and what was not checked.
    Against,
    /// The facts that would decide the case.
    WouldDecide,
    /// Verdict and severity with their reasons.
    Assessment,
    /// The subjects with the records that cover them.
    Ledger,
    /// Later actions.
    Later,
    /// Findings beyond those shown above.
    Further,
    /// Claims that their evidence does not support.
    Unverified,
    Timeline,
    /// The plan as it ran.
    Plan,
    /// The look-ups and their results.
    Evidence,
    /// The indicators with their roles.
    Indicators,
    /// The case, the analyst and the cost.
    About,
}

/// A part of the document.
#[derive(Debug)]
pub struct Section {
    pub part: Part,
    /// The title on a terminal, empty for the first part.
    pub title: &'static str,
    /// The heading in a file.
    pub heading: &'static str,
    pub blocks: Vec<Block>,
}

/// A statement of a section.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Text(Line),
    /// A paragraph that must not be missed.
    Warning(Line),
    /// A label and its text.
    Labelled(&'static str, Line),
    /// A bullet.
    Item(Line),
    /// An action with its number.
    Numbered(usize, Line),
    /// A detail of the bullet above.
    Below(Line),
    /// A label and a command to copy, below the bullet above.
    Command(&'static str, Vec<String>),
    /// Short facts, in two columns where they fit.
    Facts(Vec<(&'static str, Line)>),
    /// A bullet with the claim of a finding.
    Finding(FindingItem),
    /// A bullet with a step of the plan; its result, which sets a colour.
    Step(&'static str, Line),
    /// A bullet with a look-up and its result.
    Evidence(EvidenceId, Line),
}

impl Block {
    const fn is_detail(&self) -> bool {
        matches!(self, Self::Below(_) | Self::Command(..))
    }

    /// Returns each block with the details below it.
    pub fn with_details(blocks: &[Self]) -> impl Iterator<Item = (&Self, &[Self])> {
        let groups = blocks.chunk_by(|_, next| next.is_detail());
        groups.filter_map(<[Self]>::split_first)
    }
}

/// A finding in a list.
#[derive(Debug)]
pub struct FindingItem {
    /// The number of the finding in the report, from 1.
    pub number: usize,
    pub line: Line,
    /// Quotes of the finding, for a page.
    pub quotes: Vec<Line>,
}

/// Builds the document of a report.
pub fn document(report: &Report, reader: Reader) -> Document {
    let language = reader.language;
    let (first, later) = actions::sections(report, language);
    let sections = [
        Some(head::section(report, reader)),
        Some(first),
        Some(facts::section(report, reader)),
        facts::details(report, language),
        Some(reasons::why(report, reader)),
        Some(reasons::against(report, reader)),
        reasons::would_decide(report, reader),
        Some(assessment::section(report, language)),
        ledger::section(report, language),
        vendor::section(report, language),
        later,
        reasons::further(report, reader),
        reasons::unverified(report, reader),
        record::timeline(report, reader),
        Some(plan::section(report, reader)),
        record::evidence(report, reader),
        record::indicators(report, reader),
        Some(about::section(report, reader)),
    ];
    Document {
        header: header(report, language, HEADER),
        urgency: report.urgency,
        sections: present(sections),
    }
}

/// Builds the document of a case without a report: what its alert says.
pub fn early_document(report: &Report, reader: Reader) -> Document {
    let language = reader.language;
    Document {
        header: early_header(report, language),
        urgency: report.urgency,
        sections: present([
            Some(facts::section(report, reader)),
            facts::details(report, language),
            vendor::section(report, language),
            record::indicators(report, reader),
            record::evidence(report, reader),
            Some(about::early(report, language)),
        ]),
    }
}

fn present(sections: impl IntoIterator<Item = Option<Section>>) -> Vec<Section> {
    let sections = sections.into_iter().flatten();
    sections
        .filter(|section| !section.blocks.is_empty())
        .collect()
}

/// Returns a bullet with the number of entries left out of a list.
fn more(language: Language, shown: usize, all: usize) -> Option<Block> {
    more_line(language, shown, all).map(Block::Item)
}

fn more_line(language: Language, shown: usize, all: usize) -> Option<Line> {
    let left = u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX);
    let (before, after) = (
        language.pick("… and ", "… ほか "),
        language.pick(
            " more; the JSON report has them",
            " 件（JSON レポートにあります）",
        ),
    );
    (left > 0).then(|| Line::from_static(before).number(left).say(after))
}
