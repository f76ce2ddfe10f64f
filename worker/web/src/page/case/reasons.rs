//! Renders the findings with their quotes: reasons for the verdict, evidence against it, gaps, and what would decide
//! the case.

use nightshift_engine::conclusion::Verdict;
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::finding::FindingStance;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::{FindingEntry, Report};
use serde::Serialize;

use super::{Cite, cites};
use crate::safe_text::SafeText;

/// The maximum number of reasons in the first part.
const FIRST: usize = 5;
/// The maximum number of findings of one kind.
const MOST: usize = 30;
/// The maximum number of gaps, and of entries of what would decide the case.
const MOST_GAPS: usize = 12;

#[derive(Debug, Serialize)]
pub(super) struct Reasons {
    why: Vec<FindingView>,
    /// Further supporting findings.
    further: Vec<FindingView>,
    against: Vec<FindingView>,
    unverified: Vec<FindingView>,
    gaps: Vec<SafeText>,
    would_decide: Vec<SafeText>,
    /// The text shown when nothing is known that would decide the case.
    not_known: Option<&'static str>,
    /// The text shown when there is neither a finding against the verdict nor a gap.
    nothing_against: &'static str,
    read: usize,
    wanted: usize,
    missing: Vec<SafeText>,
}

#[derive(Debug, Serialize)]
struct FindingView {
    /// The number on the page, to which evidence links back.
    number: usize,
    claim: SafeText,
    problem: Option<SafeText>,
    cites: Vec<Cite>,
    quotes: Vec<QuoteView>,
}

#[derive(Debug, Serialize)]
struct QuoteView {
    text: SafeText,
    path: Option<SafeText>,
    cites: Vec<Cite>,
}

impl Reasons {
    pub(super) fn new(report: &Report, here: &[EvidenceId]) -> Self {
        let of = |wanted: fn(&FindingEntry, FindingStance) -> bool| -> Vec<FindingView> {
            let numbered = (1..).zip(&report.findings);
            numbered
                .filter(|(_, finding)| wanted(finding, report.bearing()))
                .take(MOST)
                .map(|(number, finding)| view(number, finding, here))
                .collect()
        };
        let mut why = of(|finding, bearing| finding.supported && finding.stance == bearing);
        let is_open = report.verdict == Verdict::Inconclusive;
        let further = why.split_off(FIRST.min(why.len()));
        Self {
            why,
            further,
            against: of(|finding, bearing| finding.supported && finding.stance != bearing),
            unverified: of(|finding, _| !finding.supported),
            gaps: SafeText::sentences(&report.gaps, MOST_GAPS),
            would_decide: match is_open {
                true => SafeText::sentences(&report.would_decide, MOST_GAPS),
                false => Vec::new(),
            },
            not_known: report
                .not_known_what_decides(Language::En)
                .filter(|_| is_open),
            nothing_against: report.nothing_against(Language::En),
            read: report.coverage.read,
            wanted: report.coverage.wanted,
            missing: SafeText::sentences(&report.coverage.missing, MOST_GAPS),
        }
    }
}

fn view(number: usize, finding: &FindingEntry, here: &[EvidenceId]) -> FindingView {
    let unborne = || SafeText::from_own(format_args!("its evidence does not bear it"));
    FindingView {
        number,
        claim: SafeText::sentence(&finding.claim),
        problem: (!finding.supported).then(|| {
            finding
                .problem
                .as_deref()
                .map_or_else(unborne, SafeText::sentence)
        }),
        cites: cites(finding.evidence.iter().map(|quote| quote.id), here),
        quotes: finding
            .evidence
            .iter()
            .take(8)
            .map(|quote| QuoteView {
                text: SafeText::from_foreign(&quote.quote, 300),
                path: quote.path.as_deref().map(SafeText::name),
                cites: cites(Some(quote.id), here),
            })
            .collect(),
    }
}
