//! The alert's two texts, which every request of a case begins with: made once per case and kept for a while.
//!
//! They follow from the alert, the case's fence and the room for the raw finding alone, so that what is kept is what
//! would be made again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use nightshift_alert::Alert;

use super::fence::Fence;
use super::render;
use nightshift_llm::chat::Text;

/// Most cases whose blocks are kept, mostly some 10 KB each and at most 100. More may be open, each asking in turn: which
/// ones are kept is left to chance, for the oldest would be the next to be asked for.
const MOST: usize = 256;

/// The blocks of one case.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Keeps its address, and nothing else of it.
    alert: Weak<Alert>,
    key: String,
    /// The case's key, and the alert's typed fields.
    pub(super) facts: Text,
    /// The finding as it was sent.
    pub(super) raw: Text,
}

/// Blocks of open cases, by where the alert is and the tokens that the finding may take.
#[derive(Debug, Default)]
pub(super) struct KeptBlocks(Mutex<HashMap<(usize, u64), Arc<Blocks>>>);

impl KeptBlocks {
    /// The blocks of this alert, the raw finding within `most` tokens.
    pub(super) fn of(&self, alert: &Arc<Alert>, fence: &Fence, most: u64) -> Arc<Blocks> {
        let at = (Arc::as_ptr(alert).addr(), most);
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blocks) = kept.get(&at)
            && blocks.key == fence.key()
        {
            return Arc::clone(blocks);
        }
        drop(kept);
        let blocks = Arc::new(Blocks::new(alert, fence, most));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, blocks| blocks.alert.strong_count() > 0);
        if kept.len() >= MOST
            && let Some(one) = kept.keys().next().copied()
        {
            kept.remove(&one);
        }
        kept.insert(at, Arc::clone(&blocks));
        blocks
    }

    /// The same for a case's last question: what is kept goes with it, for a thousand cases may wait for their answers.
    pub(super) fn last_of(&self, alert: &Arc<Alert>, fence: &Fence, most: u64) -> Arc<Blocks> {
        let blocks = self.of(alert, fence, most);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&(Arc::as_ptr(alert).addr(), most));
        blocks
    }
}

impl Blocks {
    fn new(alert: &Arc<Alert>, fence: &Fence, most: u64) -> Self {
        let facts = render::facts(alert);
        let raw = render::raw(alert, &facts, most);
        let key = fence.key();
        let facts = fence.block("E0", &facts);
        let raw = fence.block("E0 raw", &raw);
        Self {
            alert: Arc::downgrade(alert),
            key: key.to_owned(),
            facts: Text::shared(format!(
                "The KEY of this case is {key}.\n\nThe alert in typed fields:\n{facts}"
            )),
            raw: Text::shared(format!("\nThe same as its product sent it:\n{raw}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::world::{KEY, sample};

    #[test]
    fn each_case_gets_its_own_blocks_and_only_those_of_open_ones_stay() {
        let kept = KeptBlocks::default();
        let fence = Fence::new(KEY);
        let named = |number: usize| {
            let mut alert = sample("guardduty-finding");
            alert.title = format!("alert number {number}.");
            Arc::new(alert)
        };
        let alerts: Vec<Arc<Alert>> = (0..MOST + 8).map(named).collect();
        for _ in 0..2 {
            for alert in &alerts {
                let blocks = kept.of(alert, &fence, 1_000);
                assert!(blocks.facts.contains(&alert.title), "{}", blocks.facts);
            }
        }
        let count = || kept.0.lock().unwrap().len();
        assert_eq!(count(), MOST);

        let alert = named(MOST);
        let first = kept.of(&alert, &fence, 1_000);
        assert!(Arc::ptr_eq(&first, &kept.of(&alert, &fence, 1_000)));
        let other = kept.of(&alert, &Fence::new("another0key00000"), 1_000);
        assert!(other.facts.contains("another0key00000"));
        drop(alerts);
        let last = named(0);
        kept.of(&last, &fence, 1_000);
        assert_eq!(count(), 2, "those of {} ended", MOST + 8);
        let blocks = kept.last_of(&last, &fence, 1_000);
        assert!(blocks.facts.contains(&last.title));
        assert_eq!(count(), 1, "that of the last question is gone");
    }
}
