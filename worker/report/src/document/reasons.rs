//! Why; what speaks against it or was not checked; what would decide it.

use nightshift_engine::{Stance, Verdict};
use nightshift_pipeline::{FindingEntry, Report};

use super::{Block, Section, assessment, more};
use crate::line::{Line, joined};

/// Most bullets of why.
const MOST_REASONS: usize = 5;
/// Most records that cleared it.
const MOST_RECORDS: usize = 4;
/// Most bullets of what speaks against it, and most of what was not checked.
const MOST_AGAINST: usize = 4;
/// Most further findings.
const MOST_FURTHER: usize = 20;

const fn other(stance: Stance) -> Stance {
    match stance {
        Stance::For => Stance::Against,
        Stance::Against => Stance::For,
    }
}

fn bullet(finding: &FindingEntry) -> Block {
    Block::Item(
        Line::from_sentence(&finding.claim).cite(finding.evidence.iter().map(|quote| quote.id)),
    )
}

pub(super) fn why(report: &Report) -> Section {
    let mut blocks: Vec<Block> = Vec::new();
    if report.verdict.is_benign() {
        blocks.extend(
            report
                .exonerations
                .iter()
                .take(MOST_RECORDS)
                .map(|one| Block::Item(Line::of("Cleared: ").then(&assessment::record(one)))),
        );
    }
    blocks.extend(
        report
            .proven(report.bearing())
            .take(MOST_REASONS)
            .map(bullet),
    );
    if blocks.is_empty() {
        let none = if report.failed.is_some() {
            "Nothing was found: the run failed."
        } else {
            "No finding is borne by evidence."
        };
        blocks.push(Block::Item(Line::of(none)));
    }
    Section {
        title: "Why",
        heading: "Key findings: why",
        blocks,
    }
}

pub(super) fn against(report: &Report) -> Section {
    let opposed = other(report.bearing());
    let mut blocks: Vec<Block> = report
        .proven(opposed)
        .take(MOST_AGAINST)
        .map(bullet)
        .collect();
    let gaps = report.gaps.iter().take(MOST_AGAINST);
    blocks.extend(gaps.map(|gap| Block::Item(Line::of("Not checked: ").sentence(gap))));
    blocks.extend(more(MOST_AGAINST, report.gaps.len()));
    if blocks.is_empty() {
        let nothing = if report.failed.is_some() || report.coverage.read == 0 {
            "Everything: no source was read."
        } else if report.coverage.missing.is_empty() {
            "Nothing: no finding speaks against it, and every source that was wanted was read."
        } else {
            "Nothing speaks against it in what was read."
        };
        blocks.push(Block::Item(Line::of(nothing)));
    }
    blocks.push(Block::Labelled("Coverage", coverage(report)));
    Section {
        title: "Against, or not checked",
        heading: "Uncertainties: against, or not checked",
        blocks,
    }
}

/// `4 of 5 sources read; VPC flow: access denied`.
fn coverage(report: &Report) -> Line {
    let coverage = &report.coverage;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    if coverage.wanted == 0 {
        return Line::of("no source was wanted, and none was read");
    }
    let line = Line::default()
        .number(number(coverage.read))
        .say(" of ")
        .count(number(coverage.wanted), "source", "sources")
        .say(" read");
    let missing = coverage
        .missing
        .iter()
        .take(MOST_AGAINST)
        .map(|why| Line::default().foreign(why, 200));
    let missing = joined(missing, "; ");
    let rest = coverage.missing.len().saturating_sub(MOST_AGAINST);
    let line = if missing.is_empty() {
        line
    } else {
        line.say("; ").then(&missing)
    };
    if rest > 0 {
        line.say("; and ").number(number(rest)).say(" more")
    } else {
        line
    }
}

pub(super) fn would_decide(report: &Report) -> Option<Section> {
    (report.verdict == Verdict::Inconclusive).then(|| {
        let wanted = report.would_decide.iter().take(MOST_REASONS);
        let mut blocks: Vec<Block> = wanted
            .map(|line| Block::Item(Line::from_sentence(line)))
            .collect();
        blocks.extend(more(MOST_REASONS, report.would_decide.len()));
        if blocks.is_empty() {
            blocks.push(Block::Item(Line::of(if report.failed.is_some() {
                "A run that comes to its end."
            } else {
                "Not known; the sources that were not read come first."
            })));
        }
        Section {
            title: "What would decide it",
            heading: "What would decide it",
            blocks,
        }
    })
}

/// Findings beyond those above.
pub(super) fn further(report: &Report) -> Option<Section> {
    let bearing = report.bearing();
    let proven = report
        .proven(bearing)
        .skip(MOST_REASONS)
        .chain(report.proven(other(bearing)).skip(MOST_AGAINST));
    let proven: Vec<_> = proven.collect();
    let mut blocks: Vec<Block> = proven
        .iter()
        .take(MOST_FURTHER)
        .map(|one| bullet(one))
        .collect();
    blocks.extend(more(MOST_FURTHER, proven.len()));
    (!blocks.is_empty()).then_some(Section {
        title: "Further findings",
        heading: "Further findings",
        blocks,
    })
}

/// Claims that their evidence does not bear, each with why.
pub(super) fn unverified(report: &Report) -> Option<Section> {
    let unverified: Vec<_> = report
        .findings
        .iter()
        .filter(|one| !one.supported)
        .collect();
    let mut blocks = Vec::new();
    for finding in unverified.iter().take(MOST_FURTHER) {
        blocks.push(Block::Item(
            Line::of("Unverified: ").sentence(&finding.claim),
        ));
        let problem = finding
            .problem
            .as_deref()
            .unwrap_or("its evidence does not bear it");
        blocks.push(Block::Below(
            Line::of("problem: ")
                .sentence(problem)
                .cite(finding.evidence.iter().map(|quote| quote.id)),
        ));
    }
    blocks.extend(more(MOST_FURTHER, unverified.len()));
    (!blocks.is_empty()).then_some(Section {
        title: "Unverified, counts for nothing",
        heading: "Unverified, counts for nothing",
        blocks,
    })
}
