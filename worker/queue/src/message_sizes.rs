//! Limits how many messages may be held, so that their bytes fit into memory.
//!
//! A broker counts messages, not bytes, and the size of the next one is unknown. Few messages are therefore requested
//! until the first ones were seen, and again while one of the last ones was large. With small messages, as alerts
//! are, the limit has no effect after a batch or two.

/// Bytes of messages that a source may hold.
pub(crate) const BUDGET_BYTES: usize = 64 * 1024 * 1024;

/// The size of the largest of the last messages counts, of which there are at least this many and at most twice as
/// many. Rarer large messages still fit when a full batch arrives.
const WINDOW: usize = 128;

/// Sizes of the last messages.
#[derive(Debug)]
pub(crate) struct MessageSizes {
    /// Assumed size of a message before any was seen.
    largest_possible: usize,
    seen: usize,
    largest_now: usize,
    largest_before: usize,
}

impl MessageSizes {
    /// Creates the limit before the first message, which may have this many bytes.
    pub(crate) const fn new(largest_possible: usize) -> Self {
        Self {
            largest_possible,
            seen: 0,
            largest_now: 0,
            largest_before: 0,
        }
    }

    /// Notes the size of a received message.
    pub(crate) fn record(&mut self, bytes: usize) {
        self.largest_now = self.largest_now.max(bytes);
        self.seen = self.seen.saturating_add(1);
        if self.seen.is_multiple_of(WINDOW) {
            self.largest_before = std::mem::take(&mut self.largest_now);
        }
    }

    /// Returns how many messages may be held, at least one. The value changes in steps, so that it does not change
    /// with each message.
    pub(crate) fn max_in_flight(&self) -> usize {
        let largest = self.largest_now.max(self.largest_before).max(1);
        let fit = BUDGET_BYTES / largest.next_power_of_two();
        let first = BUDGET_BYTES / self.largest_possible;
        let trusted = if self.seen < first {
            first
        } else if self.seen < 16 * first {
            16 * first
        } else {
            usize::MAX
        };
        fit.min(trusted).max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn small_messages_have_all_the_room_after_a_batch_or_two() {
        let mut sizes = MessageSizes::new(16 * MIB);
        assert_eq!(sizes.max_in_flight(), 4);
        let mut batches = Vec::new();
        while sizes.max_in_flight() < 1_000 {
            let batch = sizes.max_in_flight();
            (0..batch).for_each(|_| sizes.record(5_000));
            batches.push(batch);
        }
        assert_eq!(batches, [4, 64]);
    }

    #[test]
    fn a_large_one_counts_until_enough_small_ones_came() {
        let mut sizes = MessageSizes::new(16 * MIB);
        (0..500).for_each(|_| sizes.record(5_000));
        sizes.record(8 * MIB);
        assert_eq!(sizes.max_in_flight(), 8);
        (0..WINDOW).for_each(|_| sizes.record(5_000));
        assert_eq!(sizes.max_in_flight(), 8);
        (0..WINDOW).for_each(|_| sizes.record(5_000));
        assert!(sizes.max_in_flight() > 1_000);
    }

    proptest! {
        /// Checks that this many of the largest recent message fit, and that there is always room for one.
        #[test]
        fn as_many_as_the_largest_of_the_last_fit(came in prop::collection::vec(0..40 * MIB, 1..300)) {
            let mut sizes = MessageSizes::new(16 * MIB);
            came.iter().for_each(|bytes| sizes.record(*bytes));
            let last = came.iter().rev().take(WINDOW).max().unwrap();
            let most = sizes.max_in_flight();
            prop_assert!(most >= 1);
            prop_assert!(most == 1 || most * last <= BUDGET_BYTES);
        }
    }
}
