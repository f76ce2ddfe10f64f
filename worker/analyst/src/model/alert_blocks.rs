//! Builds the alert's two texts that every request of a case begins with, made once per case and cached.
//!
//! They depend only on the alert, the case's delimiter and the room for the raw finding, so a cached text equals a new
//! one.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use nightshift_alert::Alert;
use parking_lot::Mutex;

use super::fence::Fence;
use super::render;
use nightshift_llm::chat::ChatText;

/// Maximum number of cached cases, mostly about 10 KB each and at most 100. More cases may be open and ask in turn,
/// so evicting the oldest would evict the next one to ask. Eviction is therefore random.
const MAX_CACHED_CASES: usize = 256;

#[derive(Debug)]
pub(super) struct AlertBlocks {
    /// Keeps the alert's address from being reused, but not its content.
    alert: Weak<Alert>,
    key: String,
    /// Key of the case, and typed fields of the alert.
    pub(super) facts: ChatText,
    /// Finding as it was sent.
    pub(super) raw: ChatText,
}

/// Blocks of open cases, by the address of the alert and the token limit of the finding.
#[derive(Debug, Default)]
pub(super) struct AlertBlockCache(Mutex<HashMap<(usize, u64), Arc<AlertBlocks>>>);

impl AlertBlockCache {
    /// Returns the blocks of this alert, with the raw finding within `most` tokens.
    pub(super) fn get_or_build(
        &self,
        alert: &Arc<Alert>,
        fence: &Fence,
        most: u64,
    ) -> Arc<AlertBlocks> {
        let at = (Arc::as_ptr(alert).addr(), most);
        let kept = self.0.lock();
        if let Some(blocks) = kept.get(&at)
            && blocks.key == fence.key()
        {
            return Arc::clone(blocks);
        }
        drop(kept);
        let blocks = Arc::new(AlertBlocks::new(alert, fence, most));
        let mut kept = self.0.lock();
        kept.retain(|_, blocks| blocks.alert.strong_count() > 0);
        if kept.len() >= MAX_CACHED_CASES
            && let Some(one) = kept.keys().next().copied()
        {
            kept.remove(&one);
        }
        kept.insert(at, Arc::clone(&blocks));
        blocks
    }

    /// Returns the blocks for a case's last question and removes them from the cache, because a thousand cases may
    /// wait for their answers.
    pub(super) fn take_or_build(
        &self,
        alert: &Arc<Alert>,
        fence: &Fence,
        most: u64,
    ) -> Arc<AlertBlocks> {
        let blocks = self.get_or_build(alert, fence, most);
        let mut kept = self.0.lock();
        kept.remove(&(Arc::as_ptr(alert).addr(), most));
        blocks
    }
}

impl AlertBlocks {
    fn new(alert: &Arc<Alert>, fence: &Fence, most: u64) -> Self {
        let facts = render::render_alert(alert);
        let raw = render::render_raw(alert, &facts, most);
        let key = fence.key();
        let facts = fence.block("E0", &facts);
        let raw = fence.block("E0 raw", &raw);
        Self {
            alert: Arc::downgrade(alert),
            key: key.to_owned(),
            facts: ChatText::shared(format!(
                "The KEY of this case is {key}.\n\nThe alert in typed fields:\n{facts}"
            )),
            raw: ChatText::shared(format!("\nThe same as its product sent it:\n{raw}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::case_fixture::{KEY, sample};

    #[test]
    fn case_gets_its_own_blocks_and_only_open_cases_keep_them() {
        let kept = AlertBlockCache::default();
        let fence = Fence::new(KEY);
        let named = |number: usize| {
            let mut alert = sample("guardduty-finding");
            alert.title = format!("alert number {number}.");
            Arc::new(alert)
        };
        let alerts: Vec<Arc<Alert>> = (0..MAX_CACHED_CASES + 8).map(named).collect();
        for _ in 0..2 {
            for alert in &alerts {
                let blocks = kept.get_or_build(alert, &fence, 1_000);
                assert!(blocks.facts.contains(&alert.title), "{}", blocks.facts);
            }
        }
        let count = || kept.0.lock().len();
        assert_eq!(count(), MAX_CACHED_CASES);

        let alert = named(MAX_CACHED_CASES);
        let first = kept.get_or_build(&alert, &fence, 1_000);
        assert!(Arc::ptr_eq(
            &first,
            &kept.get_or_build(&alert, &fence, 1_000)
        ));
        let other = kept.get_or_build(&alert, &Fence::new("another0key00000"), 1_000);
        assert!(other.facts.contains("another0key00000"));
        drop(alerts);
        let last = named(0);
        kept.get_or_build(&last, &fence, 1_000);
        assert_eq!(count(), 2, "those of {} ended", MAX_CACHED_CASES + 8);
        let blocks = kept.take_or_build(&last, &fence, 1_000);
        assert!(blocks.facts.contains(&last.title));
        assert_eq!(count(), 1, "that of the last question is gone");
    }
}
