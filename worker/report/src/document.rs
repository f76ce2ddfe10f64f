//! What a report says and in which order, before any looks: report.md, "In fifteen seconds", as data.
//!
//! A file per part. Writers walk it from top to bottom and add nothing but looks, so that every destination says the same.

mod about;
mod actions;
mod assessment;
mod facts;
mod head;
mod plan;
mod reasons;
mod record;

use chrono::{DateTime, FixedOffset, Utc};
use nightshift_engine::Urgency;
use nightshift_pipeline::Report;

use crate::line::Line;

/// When and where the reader is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    /// Now.
    pub(crate) now: DateTime<Utc>,
    /// The reader's own time, where it is known.
    pub(crate) local: Option<FixedOffset>,
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

/// One part.
#[derive(Debug)]
pub(crate) struct Section {
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
    let (first, later) = actions::sections(report);
    let sections = [
        Some(head::section(report, reader)),
        Some(first),
        Some(facts::section(report)),
        Some(reasons::why(report)),
        Some(reasons::against(report)),
        reasons::would_decide(report),
        Some(assessment::section(report)),
        later,
        reasons::further(report),
        reasons::unverified(report),
        record::timeline(report),
        Some(plan::section(report)),
        record::evidence(report),
        record::indicators(report),
        Some(about::section(report)),
    ];
    Document {
        header: head::header(report),
        urgency: report.urgency,
        sections: sections
            .into_iter()
            .flatten()
            .filter(|section| !section.blocks.is_empty())
            .collect(),
    }
}

/// How many were left out of a list, where some were.
fn more(shown: usize, all: usize) -> Option<Block> {
    let left = u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX);
    (left > 0).then(|| {
        Block::Item(
            Line::of("… and ")
                .number(left)
                .say(" more; the JSON report has them"),
        )
    })
}
