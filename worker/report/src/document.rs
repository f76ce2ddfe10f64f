//! What a report says and in which order, before any looks: report.md, "In fifteen seconds", as data.
//!
//! A file per part. Writers walk it from top to bottom and add nothing but looks, so that every destination says the same.

mod about;
mod actions;
mod assessment;
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
use nightshift_engine::Urgency;
use nightshift_pipeline::Report;

use crate::Language;
use crate::line::Line;

pub(crate) use changed::{differences, reasons};
pub(crate) use head::{early as early_header, header, instead_of, summary};

/// Most characters of the header, where a destination takes no other number.
const HEADER: usize = 140;

/// When and where the reader is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    /// Now.
    pub(crate) now: DateTime<Utc>,
    /// The reader's own time, where it is known.
    pub(crate) local: Option<FixedOffset>,
    /// What they read.
    pub(crate) language: Language,
    /// Whether it is read at any time after it was written: what is so many minutes ago then is not any more.
    pub(crate) is_kept: bool,
}

/// A report, ready to be written.
#[derive(Debug)]
pub(crate) struct Document {
    /// Icon, urgency, verdict, severity, marks, title: at most 140 characters.
    pub(crate) header: Line,
    /// For the colour of the header.
    pub(crate) urgency: Urgency,
    /// The parts; none is empty.
    pub(crate) sections: Vec<Section>,
}

/// Which part of a report a section is, for writers that put parts in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Conclusion, warnings, still happening, reach.
    Head,
    /// What to do first.
    First,
    /// Short facts.
    Facts,
    /// What else the alert tells in fields of its own.
    Details,
    /// The vendor's own words and advice.
    Vendor,
    /// Why.
    Why,
    /// Against, or not checked.
    Against,
    /// What would decide it.
    WouldDecide,
    /// Verdict and severity with their reasons.
    Assessment,
    /// Which record covers which subject.
    Ledger,
    /// What to do after that.
    Later,
    /// Findings beyond the first ones.
    Further,
    /// Claims that count for nothing.
    Unverified,
    /// What happened when.
    Timeline,
    /// The plan as it ran.
    Plan,
    /// What was asked and answered.
    Evidence,
    /// The values that play a part.
    Indicators,
    /// Which case, who thought, at what cost.
    About,
}

/// One part.
#[derive(Debug)]
pub(crate) struct Section {
    /// Which.
    pub(crate) part: Part,
    /// Its name on a terminal; none for the first one.
    pub(crate) title: &'static str,
    /// Its heading in a file.
    pub(crate) heading: &'static str,
    /// What it says.
    pub(crate) blocks: Vec<Block>,
}

/// One thing that a part says.
#[derive(Debug)]
pub(crate) enum Block {
    /// A paragraph.
    Text(Line),
    /// A paragraph that must not be missed.
    Warning(Line),
    /// A name and what is to be said of it.
    Labelled(&'static str, Line),
    /// A bullet.
    Item(Line),
    /// An action with its number.
    Numbered(usize, Line),
    /// More about the bullet above.
    Below(Line),
    /// What it is for, and a command, below the bullet above; ready to paste.
    Command(&'static str, Vec<String>),
    /// Short facts, two columns where they fit.
    Facts(Vec<(&'static str, Line)>),
}

/// The document of a report.
pub(crate) fn document(report: &Report, reader: Reader) -> Document {
    let language = reader.language;
    let (first, later) = actions::sections(report, language);
    let sections = [
        Some(head::section(report, reader)),
        Some(first),
        Some(facts::section(report, language)),
        facts::details(report, language),
        Some(reasons::why(report, language)),
        Some(reasons::against(report, language)),
        reasons::would_decide(report, language),
        Some(assessment::section(report, language)),
        ledger::section(report, language),
        vendor::section(report, language),
        later,
        reasons::further(report, language),
        reasons::unverified(report, language),
        record::timeline(report, language),
        Some(plan::section(report, language)),
        record::evidence(report, language),
        record::indicators(report, language),
        Some(about::section(report, language)),
    ];
    Document {
        header: header(report, language, HEADER),
        urgency: report.urgency,
        sections: sections
            .into_iter()
            .flatten()
            .filter(|section| !section.blocks.is_empty())
            .collect(),
    }
}

/// How many were left out of a list, where some were.
fn more(language: Language, shown: usize, all: usize) -> Option<Block> {
    let left = u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX);
    let (before, after) = (
        language.of("… and ", "… ほか "),
        language.of(
            " more; the JSON report has them",
            " 件（JSON レポートにあります）",
        ),
    );
    (left > 0).then(|| Block::Item(Line::of(before).number(left).say(after)))
}
