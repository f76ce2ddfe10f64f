//! The alert's two data blocks, which every request of a case begins with: made once per case and kept for a while.
//!
//! They follow from the alert, the case's fence and the room for the raw finding alone, so that what is kept is what
//! would be made again.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use nightshift_alert::Alert;

use super::fence::Fence;
use super::render;

/// Cases whose blocks are kept: at most some 100 KB each.
const MOST: usize = 64;

/// The blocks of one case.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Keeps its address, and nothing else of it.
    alert: Weak<Alert>,
    key: String,
    most: u64,
    /// Its typed fields.
    pub(super) facts: String,
    /// The finding as it was sent.
    pub(super) raw: String,
}

/// Blocks of the cases that were asked about last.
#[derive(Debug, Default)]
pub(super) struct KeptBlocks(Mutex<Vec<Arc<Blocks>>>);

impl KeptBlocks {
    /// The blocks of this alert, the raw finding within `most` tokens.
    pub(super) fn of(&self, alert: &Arc<Alert>, fence: &Fence, most: u64) -> Arc<Blocks> {
        let is_same = |blocks: &Arc<Blocks>| {
            let same_alert = std::ptr::eq(blocks.alert.as_ptr(), Arc::as_ptr(alert));
            same_alert && blocks.key == fence.key() && blocks.most == most
        };
        let found = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = kept.iter().position(is_same);
            at.map(|at| {
                let blocks = kept.remove(at);
                kept.push(Arc::clone(&blocks));
                blocks
            })
        };
        found.unwrap_or_else(|| self.make(alert, fence, most))
    }

    fn make(&self, alert: &Arc<Alert>, fence: &Fence, most: u64) -> Arc<Blocks> {
        let facts = render::facts(alert);
        let raw = render::raw(alert, &facts, most);
        let blocks = Arc::new(Blocks {
            alert: Arc::downgrade(alert),
            key: fence.key().to_owned(),
            most,
            facts: fence.block("E0", &facts),
            raw: fence.block("E0 raw", &raw),
        });
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push(Arc::clone(&blocks));
        blocks
    }
}
