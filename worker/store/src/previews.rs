//! What a mute would have hidden, as far as somebody can wait for it: the same in both databases.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseRow;
use nightshift_pipeline::mutes::MutePreview;

/// How many alerts are read at a time.
pub(crate) const PAGE: usize = 1000;
/// How many times. Few in tests, which have to fill them.
pub(crate) const PAGES: usize = if cfg!(test) { 3 } else { 50 };

/// What was found so far.
#[derive(Default)]
pub(crate) struct PreviewTally {
    preview: MutePreview,
    /// Cases of which an alert is covered: better a warning too many.
    pub(crate) cases: BTreeSet<String>,
}

impl PreviewTally {
    /// An alert that a mute or a storm took, which this mute covers.
    pub(crate) fn other(&mut self, outcome: &str) {
        if outcome == "member" {
            self.preview.members += 1;
        } else {
            self.preview.muted += 1;
        }
    }

    /// One of the cases.
    pub(crate) fn case(&mut self, row: CaseRow) {
        let word = row.verdict.map_or(row.status.as_str(), Verdict::as_str);
        *self.preview.cases.entry(word.to_owned()).or_default() += 1;
        if row.verdict == Some(Verdict::TruePositive) {
            self.preview.true_positives.push(row);
        }
    }

    /// All of it; whether every alert was looked at.
    pub(crate) fn end(mut self, is_all: bool) -> MutePreview {
        let positives = &mut self.preview.true_positives;
        positives.sort_by_key(|row| Reverse(row.opened_at));
        let looked_at = u64::try_from(PAGE * PAGES).unwrap_or(u64::MAX);
        self.preview.only_newest = (!is_all).then_some(looked_at);
        self.preview
    }
}
