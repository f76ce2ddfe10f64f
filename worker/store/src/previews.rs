//! Counts the alerts that a mute would have covered, within a bounded time. Both databases use this module.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseRow;
use nightshift_pipeline::mutes::MutePreview;

/// The number of alerts that are read at a time.
pub(crate) const PAGE: usize = 1000;
/// The maximum number of pages. Tests use few, because they have to fill them.
pub(crate) const PAGES: usize = if cfg!(test) { 3 } else { 50 };

/// The matches so far.
#[derive(Default)]
pub(crate) struct PreviewTally {
    preview: MutePreview,
    /// Cases with a covered alert. Counting too many only adds a warning.
    pub(crate) cases: BTreeSet<String>,
}

impl PreviewTally {
    /// Adds a covered alert that belongs to a storm or was muted.
    pub(crate) fn other(&mut self, outcome: &str) {
        if outcome == "member" {
            self.preview.members += 1;
        } else {
            self.preview.muted += 1;
        }
    }

    /// Adds a covered case.
    pub(crate) fn case(&mut self, row: CaseRow) {
        let word = row.verdict.map_or(row.status.as_str(), Verdict::as_str);
        *self.preview.cases.entry(word.to_owned()).or_default() += 1;
        if row.verdict == Some(Verdict::TruePositive) {
            self.preview.true_positives.push(row);
        }
    }

    /// Returns the preview. `is_all` says whether every alert was examined.
    pub(crate) fn end(mut self, is_all: bool) -> MutePreview {
        let positives = &mut self.preview.true_positives;
        positives.sort_by_key(|row| Reverse(row.opened_at));
        let looked_at = u64::try_from(PAGE * PAGES).unwrap_or(u64::MAX);
        self.preview.only_newest = (!is_all).then_some(looked_at);
        self.preview
    }
}
